"""``pfedgp evaluate``: what it asks the server for, and what it prints."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import pytest

from pfedgp import cli
from pfedgp.operator import connection, runs
from pfedgp.operator.connection import Target
from pfedgp.operator.control import SuperNode
from pfedgp.operator.state import ServerState

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


class Server:
    """A server's Control API that knows three sites, of which two are connected."""

    def __init__(self) -> None:
        self.online = (True, True, False)
        self.started: list[Mapping[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None: ...

    def nodes(self) -> list[SuperNode]:
        return [SuperNode(index, f"ward-{index}", there, "", b"") for index, there in enumerate(self.online)]

    def start(self, bundle: bytes, digest: str, config: Mapping[str, Any]) -> int:
        self.started.append(config)
        return 77


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    state = ServerState(tmp_path / "state")
    state.prepare()
    control = Server()
    target = Target("127.0.0.1:1", Path("ca.crt"), state, "", True)
    monkeypatch.setattr(Target, "connect", lambda self: control)
    monkeypatch.setattr(connection, "find_target", lambda args: target)
    monkeypatch.chdir(tmp_path)

    def attend(*arguments: object) -> int:
        """The run, which leaves its results."""
        folder = Path(str(control.started[-1]["out"]))
        folder.mkdir(parents=True)
        (folder / "evaluation.json").write_text('{"format": "pfedgp-evaluation"}')
        print("measuring")
        return 0

    monkeypatch.setattr(runs, "attend", attend)
    return control


def test_it_waits_for_the_connected_sites(server: Server, tmp_path: Path) -> None:
    assert cli.main(["evaluate", "--model", "night/best", "--min-cell", "25", "--wait", "30"]) == 0
    (config,) = server.started
    assert config["evaluate"] == str(tmp_path / "night/best")
    assert (config["min-cell"], config["min-results"], config["wait-timeout"]) == (25, 2, 30.0)


def test_json_is_alone_on_standard_output(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["evaluate", "--model", "night/best", "--sites", "3", "--json", "--out", "found"]) == 0
    assert json.loads(capsys.readouterr().out) == {"format": "pfedgp-evaluation"}
    assert server.started[0]["min-results"] == 3


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--min-cell", "0"], "--min-cell '0' is not a whole number from 1"),
        (["--sites", "two"], "--sites 'two' is not a whole number from 1"),
        (["--wait", "-1"], "--wait -1 is no number of seconds"),
        (["--wait", "nan"], "--wait nan is no number of seconds"),
    ],
)
def test_mistakes(server: Server, options: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["evaluate", "--model", "night/best", *options]) == 2
    assert text in capsys.readouterr().err
    assert not server.started


def test_no_site_is_connected(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    server.online = (False, False, False)
    assert cli.main(["evaluate", "--model", "night/best"]) == 2
    assert "No site is connected" in capsys.readouterr().err
