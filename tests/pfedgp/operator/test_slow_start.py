"""A server app that starts slowly keeps its claim; one that never starts ends its run with the reason."""

import subprocess
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from pfedgp.operator import kept_claims, slow_start
from pfedgp.operator.kept_claims import KeptClaims
from pfedgp.operator.slow_start import STARTS, Start

SLEEPS = "import time; time.sleep(600)"


class Link:
    """A SuperLink: when it takes a run for started, and what it hears."""

    def __init__(self, code: str, taken: Callable[["Link"], bool] = lambda link: False, claimed: bool = True) -> None:
        self.code, self._taken, self._claimed = code, taken, claimed
        self.processes: list[subprocess.Popen[bytes]] = []
        self.beats = 0
        self.reason = ""

    def launch(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen([sys.executable, "-c", self.code], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.processes.append(process)
        return process

    def beat(self) -> bool:
        self.beats += 1
        return self._claimed

    def fail(self, reason: str) -> None:
        self.reason = reason

    def start(self) -> "Link":
        Start("7", self.launch, lambda: self._taken(self), self.beat, self.fail).run()
        return self


@pytest.fixture(autouse=True)
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look often."""
    monkeypatch.setattr(slow_start, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(slow_start, "BEAT_EVERY", 0.02)


def test_the_claim_is_kept_until_the_process_works() -> None:
    link = Link(SLEEPS, taken=lambda link: link.beats >= 5).start()
    assert len(link.processes) == 1
    assert link.processes[0].poll() is None
    assert link.reason == ""
    link.processes[0].kill()


def test_one_that_ends_before_its_first_call_is_started_again_and_then_ends_the_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    link = Link("print('no room'); raise SystemExit(3)").start()
    assert len(link.processes) == STARTS
    assert link.reason == (
        "The server app was started 3 times and never came to its first call: it ended with exit code 3 (no room); see "
        "superexec.log in the server's logs."
    )
    assert "start 2 of 3 of the server app of run 7" in capsys.readouterr().err


def test_one_that_never_calls_is_ended_after_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slow_start, "LONGEST", 0.1)
    link = Link(SLEEPS).start()
    assert [process.wait(30) for process in link.processes] == [-9] * STARTS
    assert "it had made no call after 0.1 s" in link.reason


def test_a_run_that_was_stopped_meanwhile_ends_its_process_and_is_not_started_again() -> None:
    link = Link(SLEEPS, claimed=False).start()
    assert [process.wait(30) for process in link.processes] == [-9]
    assert link.reason == ""


def test_a_process_that_has_done_all_its_work_between_two_looks_is_no_failure() -> None:
    link = Link("", taken=lambda link: link.processes[0].poll() is not None).start()
    assert len(link.processes) == 1
    assert link.reason == ""


def test_the_installed_flower_has_what_it_needs() -> None:
    assert KeptClaims().missing() == ""


def test_server_apps_are_started_by_a_start_and_other_tasks_by_flower(monkeypatch: pytest.MonkeyPatch) -> None:
    from flwr.supercore.constant import TaskType
    from flwr.supercore.superexec.executor import LaunchResultStatus, subprocess_executor
    from flwr.supercore.superexec.plugin.base_exec_plugin import BaseExecPlugin

    flowers, claimed = list[Any](), list[Any]()

    class Claim:
        def __init__(self, plugin: Any, token: str, run_id: int) -> None:
            claimed.append((token, run_id))

        def start(self, launch: Callable[[], Any]) -> None:
            claimed.append(launch())

    def launch_task(self: Any, token: str, task: Any) -> str:
        flowers.append((token, subprocess_executor.subprocess.Popen([sys.executable, "-c", "print('from it')"])))
        return "flower's"

    monkeypatch.setattr(BaseExecPlugin, "launch_task", launch_task)
    monkeypatch.setattr(subprocess_executor, "subprocess", subprocess)
    monkeypatch.setattr(kept_claims, "_Claim", Claim)
    KeptClaims().apply()

    plugin: Any = SimpleNamespace()
    other = BaseExecPlugin.launch_task(plugin, "a", SimpleNamespace(type=TaskType.CLIENT_APP, run_id=1))  # type: ignore[arg-type]
    own = BaseExecPlugin.launch_task(plugin, "b", SimpleNamespace(type=TaskType.SERVER_APP, run_id=2))  # type: ignore[arg-type]

    assert str(other) == "flower's"
    assert own.status == LaunchResultStatus.ACCEPTED
    assert claimed[0] == ("b", 2)
    assert claimed[1] is flowers[1][1]
    assert claimed[1].communicate()[0] == b"from it\n"
    assert flowers[0][1].wait() == 0
