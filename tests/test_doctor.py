"""The doctor without a server: clock search, the kernel's tables, and the checks of folder, disk, device and data."""

import fcntl
import json
import os
import socket
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp.doctor import local
from pfedgp.doctor.clock import AHEAD_LIMIT, BEHIND_LIMIT, clock_offset, duration
from pfedgp.doctor.problem import Check, Problem, checked
from pfedgp.doctor.server import check_server
from pfedgp.operator.certificates import issue
from pfedgp.operator.state import StateFolder
from pfedgp.processes import linux
from pfedgp_core.errors import DataError


@pytest.mark.parametrize("ahead", [0.0, 4.9, 5.1, -304.0, -306.0, 600.0, -600.0, 3600.0, -36_000.0])
def test_the_clock_is_found_to_the_second(ahead: float) -> None:
    calls = []

    def accepts(shift: float) -> bool:
        calls.append(shift)
        return -BEHIND_LIMIT < ahead + shift < AHEAD_LIMIT

    found = clock_offset(accepts, 86_400.0)

    assert found == pytest.approx(ahead, abs=1.0)
    assert len(calls) <= 2 * abs(ahead) / 300 + 16


def test_a_clock_that_cannot_be_found() -> None:
    assert clock_offset(lambda shift: False, 3600.0) is None
    tried: list[float] = []
    assert clock_offset(lambda shift: bool(tried.append(shift)), 1e6, over=lambda: len(tried) > 6) is None
    assert len(tried) < 10


def test_durations() -> None:
    assert [duration(s) for s in (0.4, 119.0, 600.0, 7200.0)] == ["0 s", "119 s", "10 minutes", "2.0 hours"]


def test_lines() -> None:
    problem = Problem("x", "It is broken.", "Mend it.", lasting=True)
    assert Check("port", "open").line == "ok       port: open"
    assert Check("port", "open", problem).line == "problem  port: It is broken. Mend it."
    assert Check("port", "open", problem._replace(warning=True)).line == "warning  port: It is broken. Mend it."


def test_errors_of_the_product_become_problems() -> None:
    def look() -> Check:
        raise DataError("No data: give some.")

    check = checked("data", look)
    assert check.status == "problem" and check.line == "problem  data: No data: give some."


def test_listening_sockets_are_found_by_port_and_address() -> None:
    with socket.create_server(("127.0.0.1", 0)) as narrow:
        port = narrow.getsockname()[1]
        assert linux.listening_on(port) == ["127.0.0.1"]
    with socket.create_server(("0.0.0.0", 0)) as wide:
        assert linux.listening_on(wide.getsockname()[1]) == ["0.0.0.0"]
    assert linux.listening_on(port) == []


@pytest.mark.skipif(not socket.has_ipv6, reason="needs IPv6")
def test_listening_on_ipv6() -> None:
    try:
        server = socket.create_server(("::1", 0), family=socket.AF_INET6)
    except OSError:
        pytest.skip("needs IPv6")
    with server:
        assert linux.listening_on(server.getsockname()[1]) == ["::1"]


def test_processes_are_known_by_name() -> None:
    assert linux.is_alive(os.getpid(), "py")
    assert not linux.is_alive(os.getpid(), "flower-superlink")
    assert not linux.is_alive(2**22 + 1, "py")


def test_the_clock_of_this_machine_can_be_asked() -> None:
    assert linux.clock_is_synchronised() in (True, False, None)


def test_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    for free, status in ((10**10, "ok"), (10**9, "warning"), (10**8, "problem")):
        monkeypatch.setattr(local.shutil, "disk_usage", lambda path, free=free: usage(10**12, 0, free))
        state, disk = local.check_folder(tmp_path / "new" / "state")
        assert state.status == "ok" and "can be made" in state.fact
        assert disk.status == status


def test_state_folder_that_cannot_be_written_or_is_remote(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    state = next(local.check_folder(tmp_path / "file"))
    assert state.status == "problem" and "cannot be written" in state.line

    monkeypatch.setattr(local, "is_network_file_system", lambda path: "nfs4")
    state = next(local.check_folder(tmp_path))
    assert state.status == "warning" and "nfs4" in state.line and "local disk" in state.line


def test_client_and_progress(tmp_path: Path) -> None:
    assert [check.fact.split()[0] for check in local.check_client(tmp_path)] == ["none", "no"]

    (tmp_path / "client.json").write_text(json.dumps({"supervisor": 77, "connected": True, "mode": "stock"}))
    (tmp_path / "progress.json").write_text(
        json.dumps({"run": "12", "round": 7, "status": "ok", "time": "2026-01-01T00:00:00Z"})
    )
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        client, progress = local.check_client(tmp_path)
    assert "process 77" in client.fact and ", connected" in client.fact and "slow" in client.fact
    assert "round 7 of run 12" in progress.fact
    assert next(local.check_client(tmp_path)).fact.startswith("none")


def test_device_and_data(tmp_path: Path) -> None:
    assert local.check_device("cpu").fact.startswith("cpu")
    assert checked("device", lambda: local.check_device("gpu")).status == "problem"

    labels = np.array(["a", "b"] * 10)
    np.savez(tmp_path / "good.npz", x=np.random.default_rng(0).random((20, 8)), y=labels)
    good = local.check_data_at(tmp_path / "good.npz", "label")
    assert good.status == "ok" and "20 samples of 2 classes" in good.fact

    np.savez(tmp_path / "bad.npz", x=np.full((20, 8), np.nan), y=labels)
    bad = local.check_data_at(tmp_path / "bad.npz", "label")
    assert bad.status == "problem" and "pfedgp check-data" in bad.line
    assert checked("data", lambda: local.check_data_at(tmp_path / "none.npz", "label")).status == "problem"


def test_versions(monkeypatch: pytest.MonkeyPatch) -> None:
    assert local.check_versions("elsewhere").status == "ok"
    monkeypatch.setattr(local, "software_versions", lambda: {"flwr": "1.42.0"})
    assert local.check_versions("elsewhere").status == "warning"


@pytest.fixture
def stopped(tmp_path: Path) -> StateFolder:
    """The state folder of a server that was killed."""
    issue(tmp_path / "certs", ["fl.example.org"], ["ward-1"])
    state = StateFolder(tmp_path / "state")
    state.prepare()
    state.make_secret()
    state.write_server(
        {
            "pid": 1,
            "fleet_address": "0.0.0.0:1",
            "control_address": "127.0.0.1:2",
            "ca": str(tmp_path / "certs" / "ca.crt"),
            "certs": str(tmp_path / "certs"),
            "database": False,
            "started": "2026-01-01T00:00:00+00:00",
            "versions": {"flwr": "1.0"},
            "processes": {"superlink": 2**22 + 1},
        }
    )
    return state


def found(state: StateFolder, certs: Path | None = None) -> dict[str, Problem]:
    return {check.problem.code: check.problem for check in check_server(state, certs) if check.problem}


def test_a_server_that_does_not_run(stopped: StateFolder) -> None:
    problems = found(stopped)

    assert "pfedgp server" in problems["no-server"].remedy
    assert not problems["not-listening"].warning and problems["no-database"].warning


def test_no_server_ever_ran_here(tmp_path: Path) -> None:
    assert "pfedgp server" in found(StateFolder(tmp_path / "nothing"))["no-server"].sentence


def test_certificates_that_do_not_fit_and_open_secrets(stopped: StateFolder, tmp_path: Path) -> None:
    certs = tmp_path / "certs"
    checks = {check.topic: check for check in check_server(stopped, None)}
    assert checks["certificates"].status == "ok" and "fl.example.org" in checks["certificates"].fact

    (certs / "server.key").chmod(0o644)
    assert "chmod 600" in found(stopped)["file-mode"].remedy
    issue(tmp_path / "others", ["localhost"], [])
    (certs / "server.key").write_bytes((tmp_path / "others" / "server.key").read_bytes())
    assert "belong together" in found(stopped)["certificates"].sentence
    assert "certificates" not in found(stopped, tmp_path / "others")


def test_versions_of_sites_in_the_last_run(stopped: StateFolder) -> None:
    run = stopped.runs / "first"
    run.mkdir()
    (run / "summary.json").write_text(json.dumps({"other_client_versions": ["pfedgp 0.0.9"]}))

    problem = found(stopped)["other-versions"]

    assert problem.warning and "pfedgp 0.0.9" in problem.sentence and "first" in problem.sentence


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--superlink", "a:1"], "--ca is missing"),
        (["--superlink", "a:1", "--ca", "x", "--insecure"], "--insecure uses neither"),
        (["--superlink", "a:1", "--ca", "x", "--certs", "y"], "--certs is for the server"),
        (["--key", "x"], "--key is for a site"),
    ],
)
def test_options_that_do_not_go_together(arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", *arguments]) == 2
    assert word in capsys.readouterr().err


def test_the_state_folder_of_a_site_asks_for_its_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "client.json").write_text("{}")
    assert main(["doctor", "--state", str(tmp_path)]) == 2
    assert "--superlink" in capsys.readouterr().err


def test_json_and_exit_code(stopped: StateFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--state", str(stopped.path), "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["problems"] == sum(check["status"] == "problem" for check in report["checks"]) > 0
    problem = next(check["problem"] for check in report["checks"] if check["status"] == "problem")
    assert set(problem) == {"code", "sentence", "remedy", "lasting", "warning"}
