"""Which run ``pfedgp resume`` means, and what it and ``pfedgp run`` find wrong before they ask the server."""

import shutil
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self, cast

import pytest

from pfedgp import cli
from pfedgp.operator import connection, follow, runs
from pfedgp.operator.connection import Target
from pfedgp.operator.control import Control, Run, SuperNode, UnreachableError
from pfedgp.operator.state import ServerState
from pfedgp.processes.signals import STOP_SIGNALS
from server.run.claim import RunLock
from tests.federation_run import SMALL, federate
from tests.waiting import FakeTime

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning:pathspec.*")


class Server:
    """A server's Control API that knows some runs, and takes any new one."""

    def __init__(self, known: list[Run]) -> None:
        self.known = known
        self.started: list[Mapping[str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *reason: object) -> None: ...

    def runs(self) -> list[Run]:
        return self.known

    def nodes(self) -> list[SuperNode]:
        return [SuperNode(index, f"ward-{index}", True, "", b"") for index in range(1, 6)]

    def start(self, bundle: bytes, digest: str, config: Mapping[str, Any]) -> int:
        self.started.append(config)
        return 77


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for what all tests need."""
    return tmp_path_factory.mktemp("made")


@pytest.fixture
def run(made: Path) -> Path:
    """The folder of a run of one round."""
    if not (made / "night").exists():
        federate(SMALL.replace(rounds=1), made / "night", deployed=True)
    return made / "night"


@pytest.fixture
def server(run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server of the default state folder, with a run of one round in it."""
    state = ServerState(tmp_path / "state")
    state.prepare()
    (state.path / "server.json").write_text("{}")
    shutil.copytree(run, state.runs / "night")
    night = str(state.runs / "night")
    control = Server(
        [
            Run(41, "finished:failed", "", {"resume": night}, ""),
            Run(40, "finished:failed", "", {"out": night}, ""),
            Run(39, "finished:completed", "", {"out": str(state.runs / "day")}, ""),
        ]
    )
    target = Target("127.0.0.1:1", Path("ca.crt"), state, "", True)
    monkeypatch.setattr(Target, "connect", lambda self: control)
    monkeypatch.setattr("pfedgp.operator.state.default_state", lambda: state.path)
    for module in (runs, connection):
        monkeypatch.setattr(module, "find_target", lambda args: target)
    monkeypatch.setattr(runs, "attend", lambda *arguments: 0)
    monkeypatch.chdir(tmp_path)
    return control


@pytest.mark.parametrize("text", ["night", "41", "state/runs/night"])
def test_a_run_is_resumed_by_name_id_or_folder(server: Server, tmp_path: Path, text: str) -> None:
    (tmp_path / "night").mkdir()  # a folder of that name which is no run
    assert cli.main(["resume", text, "--rounds", "3"]) == 0
    assert server.started == [{"resume": str(tmp_path / "state/runs/night"), "rounds": 3}]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("evening", "/evening and the server knows no run of that name; the latest are night, day.\n"),
        ("/nonexistent/run", "There is no run in /nonexistent/run: see the server's runs with pfedgp status"),
        ("night", "is complete: give --rounds with more than 1"),
    ],
)
def test_a_run_that_cannot_go_on_is_named_before_the_server_is_asked(
    server: Server, capsys: pytest.CaptureFixture[str], text: str, sentence: str
) -> None:
    assert cli.main(["resume", text]) == 2
    assert sentence in capsys.readouterr().err
    assert not server.started


def test_a_run_that_goes_on_already_is_left_alone(
    server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with RunLock(tmp_path / "state/runs/night"):
        assert cli.main(["resume", "night", "--rounds", "3"]) == 2
    assert "still runs" in capsys.readouterr().err
    assert not server.started


def test_status_tells_a_failure_in_own_words_and_a_resumed_folder_once(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(tmp_path / "state/runs/lost")
    details = "No heartbeat received from the task."
    server.known = [
        Run(43, "finished:failed", details, {"resume": folder}, ""),
        Run(42, "finished:failed", details, {"out": folder}, ""),
    ]

    assert cli.main(["status"]) == 0

    shown = capsys.readouterr().out
    assert shown.count(folder) == 1
    assert "lost (42): finished:failed\n    resumed as 43\n" in shown
    assert shown.count("The server app died") == 2
    assert "heartbeat" not in shown


class Unreachable(Server):
    """A server that no longer answers once it has told of its run."""

    def runs(self, run_id: int | None = None) -> list[Run]:
        if self.started:
            raise UnreachableError("The server does not answer.")
        self.started.append({})
        return self.known


def test_who_follows_a_run_leaves_when_its_server_has_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow, "STATUS_EVERY", 0.0)
    clock = FakeTime()
    monkeypatch.setattr(follow, "time", clock)
    state = ServerState(tmp_path)
    state.prepare()
    (tmp_path / "server.json").write_text("{}")
    control = Unreachable([Run(1, "running", "", {"out": "/x/night"}, "")])
    said: list[str] = []
    watch = follow._Watch(cast("Control", control), Target("x", Path(), state, "", True), 1, said.append)
    assert not watch.look(True)

    with state.locked():  # a SuperLink that died is started again by its server
        assert not watch.look(True)
        clock.sleep(follow.GONE + 1)
        assert not watch.look(True)
    assert not watch.look(True)
    clock.sleep(follow.GONE + 1)
    with pytest.raises(follow.UnfinishedError, match="has stopped, and the run with it: start it again with") as ended:
        watch.look(True)

    assert ended.value.folder == "/x/night"
    assert len(said) == 1


def test_sigterm_leaves_a_run_as_ctrl_c_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(runs, "follow", lambda *arguments: signal.raise_signal(signal.SIGTERM))

    before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
    try:
        assert runs.attend(Target("x", Path(), None, " --state s", True), 1, "night") == 143
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

    assert "The run goes on. Follow it with: pfedgp run --attach night --state s" in capsys.readouterr().err


def test_a_deployed_run_knows_the_server_in_whose_folder_it_lies(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "none"))
    night = tmp_path / "other/runs/night"
    shutil.copytree(run, night)
    assert cli.main(["resume", str(night), "--rounds", "3"]) == 2
    assert "give --state, the folder of the server that ran it" in capsys.readouterr().err

    (tmp_path / "other/server.json").write_text('{"control_address": "127.0.0.1:1"}')
    for command in (["resume", str(night), "--rounds", "3"], ["stop", str(night)]):
        assert cli.main(command) == 1
        assert f"The server of {tmp_path / 'other'} does not run" in capsys.readouterr().err


def test_without_a_server_the_run_is_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert cli.main(["resume", "night"]) == 2
    assert f"There is no run in {tmp_path / 'night'}" in capsys.readouterr().err


def test_a_private_run_without_accountant_is_not_submitted(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("pfedgp_core.learning.privacy.ACCOUNTANT", "no_such_module")
    private = ["run", "--set", "dp-noise=1", "--set", "dp-clip=1"]
    assert cli.main(private) == 2
    assert "pip install 'pfedgp[privacy]'" in capsys.readouterr().err
    assert not server.started
    assert cli.main(private[:1]) == 0
    assert len(server.started) == 1
