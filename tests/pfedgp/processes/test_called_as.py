"""What an operator is shown who calls pfedgp through another program, as in a container."""

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from pfedgp import cli
from pfedgp.doctor import server as doctor
from pfedgp.operator import runs
from pfedgp.operator.connection import Target, find_target
from pfedgp.operator.follow import UnfinishedError
from pfedgp.operator.server import Server
from pfedgp.operator.server_checks import warnings
from pfedgp.operator.state import ServerState
from pfedgp.processes.called_as import control_is_internal, shown

RUNNER = "docker compose run --rm runner"
VARIABLES = ("PFEDGP_CALLED_AS", "PFEDGP_RUNS_MOUNT", "PFEDGP_INTERNAL_CONTROL")


@pytest.fixture(autouse=True)
def ordinary(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def container(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PFEDGP_CALLED_AS", RUNNER)
    monkeypatch.setenv("PFEDGP_RUNS_MOUNT", "./out:/state/runs")


TEXTS = [
    ("go on with: pfedgp resume /state/runs/mine", f"go on with: {RUNNER} resume mine"),
    ("pfedgp run --attach mine; pfedgp stop mine", f"{RUNNER} run --attach mine; {RUNNER} stop mine"),
    ("pfedgp run --attach /state/runs/a/b.", f"{RUNNER} run --attach a/b."),
    ("/state/runs/mine/report.html", "./out/mine/report.html"),
    ("The run in /state/runs/mine still runs", "The run in ./out/mine still runs"),
    ("`-- folder   /state/runs", "`-- folder   ./out"),
    ("/state/runs-2/a /my/state/runs/b", "/state/runs-2/a /my/state/runs/b"),
    ("make keys with pfedgp certs, see pfedgp runner", "make keys with pfedgp certs, see pfedgp runner"),
]


@pytest.mark.parametrize(("text", "expected"), TEXTS)
def test_commands_and_folders_are_the_operators_own(container: None, text: str, expected: str) -> None:
    assert shown(text) == expected


@pytest.mark.parametrize("text", [text for text, _ in TEXTS])
def test_without_the_variables_nothing_changes(text: str) -> None:
    assert shown(text) == text


def test_folders_may_hold_colons_and_backslashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PFEDGP_RUNS_MOUNT", r"C:\1\out:/state/runs")
    assert shown("/state/runs/mine") == r"C:\1\out/mine"


def target_of(folder: Path) -> Target:
    ca = folder / "ca.crt"
    return find_target(argparse.Namespace(state=folder, control="control:8000", ca=ca))


def test_options_that_are_filled_in_are_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert target_of(tmp_path).options == f" --state {tmp_path} --control control:8000 --ca {tmp_path / 'ca.crt'}"
    monkeypatch.setenv("PFEDGP_CALLED_AS", RUNNER)
    assert target_of(tmp_path).options == ""


def test_a_run_that_is_cut_off_names_the_command_that_works_on_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PFEDGP_CALLED_AS", RUNNER)
    monkeypatch.setenv("PFEDGP_RUNS_MOUNT", f"./out:{tmp_path}/runs")
    folder = tmp_path / "runs" / "mine"
    (folder / "checkpoints" / "round-1").mkdir(parents=True)

    def cut_off(target: Target, run_id: int, show: Any) -> None:
        show(f"`-- folder   {folder}")
        raise UnfinishedError("The server app died.", str(folder))

    def main(args: argparse.Namespace) -> int:
        return runs.attend(target_of(tmp_path), 1, "mine")

    monkeypatch.setattr(runs, "follow", cut_off)
    monkeypatch.setattr("pfedgp.commands.status.main", main)
    assert cli.main(["status"]) == 1
    printed = capsys.readouterr()
    assert printed.out.splitlines()[1:] == ["`-- folder   ./out/mine"]
    assert printed.err == f"pfedgp: The server app died. Go on from its last checkpoint: {RUNNER} resume mine\n"

    assert runs.attend(target_of(tmp_path), 1, "mine", detach=True) == 0
    assert capsys.readouterr().out.endswith(f"Follow it with: {RUNNER} run --attach mine\n")


def test_only_the_address_that_is_known_to_be_internal_is_not_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def said(control: str) -> list[str]:
        server = Server(ServerState(tmp_path), tmp_path, ("0.0.0.0", 9092), (control, 8000))
        return [line for line in warnings(server, datetime.now(UTC) + timedelta(days=365)) if "Control" in line]

    def port(listens: str) -> str:
        record = {"fleet_address": "0.0.0.0:9092", "control_address": "control:8000", "control_listens": listens}
        (found,) = [check for check in doctor._ports(record) if check.topic == "Control port"]
        return found.status

    monkeypatch.setattr(doctor, "listening_on", lambda number: ["198.51.100.2"])
    assert len(said("control")) == 1
    assert port("control:8000") == "warning"
    monkeypatch.setenv("PFEDGP_CALLED_AS", RUNNER)
    assert len(said("control")) == 1
    assert port("control:8000") == "warning"
    monkeypatch.setenv("PFEDGP_INTERNAL_CONTROL", "control:8000")
    assert said("control") == []
    assert port("control:8000") == "ok"
    assert len(said("0.0.0.0")) == 1
    assert port("0.0.0.0:8000") == "warning"
    monkeypatch.setenv("PFEDGP_INTERNAL_CONTROL", "")
    assert not control_is_internal("")
