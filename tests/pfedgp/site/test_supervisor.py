"""The supervisor of a site: what ends it and what does not, and what it tells the operator."""

import json
import signal
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from pfedgp.site import supervisor
from pfedgp.site.plan import SitePlan
from pfedgp.site.state import SiteState
from pfedgp.site.supernode_process import Heard
from pfedgp.site.supervisor import SiteSupervisor
from pfedgp_core.errors import ConfigError, RunFailedError

if TYPE_CHECKING:
    import queue


class FakeProcess:
    """A SuperNode that says what a test wants."""

    lives: ClassVar[list[list[Heard]]] = []

    def __init__(self, plan: SitePlan, heard: "queue.SimpleQueue[Heard]") -> None:
        self.pid = 1
        for one in self.lives.pop(0):
            heard.put(one)

    def stop(self) -> None:
        """Nothing to end."""


def problem(code: str, lasting: bool) -> Any:
    """What the doctor finds."""
    return SimpleNamespace(code=code, text=f"About {code}.", lasting=lasting, warning=False)


WARNING = Heard("line", "2026-01-02 03:04:05,678 pfedgp.client WARNING: this site cannot take part: The class 'thre'")
GREETED = Heard(
    "event", {"event": "task", "what": "the greeting", "round": 0, "run": "7", "seconds": 0.01, "error": ""}
)
REFUSED = Heard("event", {"event": "refused", "text": "The patch own-agent does not fit."})
UNUSABLE = Heard("event", {"event": "unusable", "reason": "it cannot load its app (ImportError)"})
UNSTORED = Heard(
    "line", "flwr.supercore.inflatable.inflatable_utils.ObjectPushError: Failed to push object with ID '1'"
)
CONNECT, TERMINATE = Heard("line", "INFO : SuperNode ID: 77"), Heard("signal", signal.SIGTERM)


@pytest.mark.parametrize(
    ("found", "lives", "shown", "ends"),
    [
        ([[], []], [[CONNECT, Heard("ended", 1)], [TERMINATE]], "exit code 1); it is started again", 0),
        (
            [[], []],
            [[CONNECT, UNSTORED, Heard("ended", 1)], [TERMINATE]],
            "ended (a reply could not be handed over whole)",
            0,
        ),
        ([[], []], [[CONNECT, Heard("ended", -9)], [TERMINATE]], "signal 9); it is started again", 0),
        ([[], [problem("wrong-ca", True)]], [[CONNECT, Heard("ended", 1)], [TERMINATE]], "Waiting: About wrong-ca.", 0),
        ([[problem("refused", False)]], [[TERMINATE]], "Waiting: About refused.", 0),
        ([[problem("unregistered", True)]], [[TERMINATE]], "Waiting: About unregistered.", 0),
        ([[]], [[Heard("signal", signal.SIGINT)]], "Stopped.", 130),
        ([[]], [[REFUSED, Heard("ended", 1)]], "The patch own-agent does not fit.", ConfigError),
        ([[]], [[CONNECT, UNUSABLE, Heard("ended", 0)]], "it cannot load its app", RunFailedError),
        ([[problem("wrong-ca", True)]], [], "About wrong-ca.", ConfigError),
        ([[], [problem("wrong-name", True)]], [[Heard("ended", 1)]], "About wrong-name.", ConfigError),
    ],
)
def test_what_ends_a_client_and_what_does_not(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, found: Any, lives: Any, shown: str, ends: Any
) -> None:
    monkeypatch.setattr(supervisor, "SuperNodeProcess", FakeProcess)
    monkeypatch.setattr(supervisor, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(FakeProcess, "lives", lives)
    monkeypatch.setattr(supervisor, "_diagnose", lambda plan, refused: found.pop(0))
    folder = SiteState(tmp_path)
    with folder.locked(), folder.logs() as logger:
        client = SiteSupervisor(SitePlan("localhost:1", "", "", {}, str(tmp_path), "x"), folder, logger)
        if isinstance(ends, int):
            assert client.run() == ends
        else:
            with pytest.raises(ends, match=shown):
                client.run()
    assert shown in folder.log_file.read_text()
    assert not json.loads((tmp_path / "client.json").read_text())["connected"]


def test_the_operator_of_a_site_that_cannot_take_part_is_told_once(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(supervisor, "SuperNodeProcess", FakeProcess)
    monkeypatch.setattr(FakeProcess, "lives", [[CONNECT, WARNING, GREETED, WARNING, GREETED, TERMINATE]])
    monkeypatch.setattr(supervisor, "_diagnose", lambda plan, refused: [])
    folder = SiteState(tmp_path)
    with folder.locked(), folder.logs() as logger:
        SiteSupervisor(SitePlan("localhost:1", "", "", {}, str(tmp_path), "x"), folder, logger).run()
    shown = capsys.readouterr().out
    assert shown.count("Problem: this site cannot take part: The class 'thre'") == 1
    assert shown.count("Answered the greeting of run 7 in 0.0 s.") == 2


@pytest.mark.parametrize(
    ("event", "said"),
    [
        ({"what": "train"}, "Trained round 5 of run 7 in 1.2 s."),
        ({"what": "evaluate", "split": "validation"}, "Evaluated round 5 of run 7 in 1.2 s."),
        ({"what": "the notice"}, "Read a notice of the server of run 7."),
        (
            {"what": "evaluate", "split": "test"},
            "Evaluated the best model, of round 5, of run 7 on test data in 1.2 s.",
        ),
        (
            {"what": "evaluate", "split": "initial"},
            "Evaluated the network before round 1 of run 7 on test data in 1.2 s.",
        ),
        (
            {"what": "train", "taken": False},
            "The server no longer took the reply to train in round 5 of run 7, as the run had ended.",
        ),
    ],
)
def test_what_a_site_did_is_a_sentence(event: dict[str, Any], said: str) -> None:
    assert supervisor._task({"round": 5, "run": "7", "seconds": 1.23, "error": ""} | event) == said
