"""A process that has been told to end ends in order, however often it is told."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from pfedgp import cli
from pfedgp.local import processes as local_processes
from pfedgp.local.processes import LocalFlower
from pfedgp.processes.signals import STOP_OR_HANGUP, STOP_SIGNALS, TerminatedError, interrupted, on_stop_signal
from tests.deploy.namespaces import Host
from tests.deploy.program import Program, children, is_alive, wait_for

SLOW_END = """
import sys, threading
from pfedgp.processes.signals import STOP_OR_HANGUP, STOP_SIGNALS, on_stop_signal

stopped = threading.Event()
def stop(number):
    print("ending by", number, flush=True)
    stopped.set()
with on_stop_signal(stop, {signals}):
    print("ready", flush=True)
    stopped.wait()
sys.stdin.readline()
print("ended")
"""


@pytest.fixture
def handlers() -> Iterator[None]:
    """After a signal they stay ignored: here they come back."""
    before = {number: signal.getsignal(number) for number in STOP_OR_HANGUP}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_does_not_kill_a_process_that_is_ending(number: signal.Signals) -> None:
    command = [sys.executable, "-c", SLOW_END.format(signals="STOP_SIGNALS")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "ending by 15\n"
        process.send_signal(number)
        assert process.communicate("end\n")[0] == "ended\n"
    assert process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_what_a_process_was_started_to_ignore_it_ignores(number: signal.Signals) -> None:
    code = SLOW_END.format(signals="STOP_OR_HANGUP")
    command = ["sh", "-c", f"trap '' {number.name[3:]}; exec \"$@\"", "sh", sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        process.send_signal(signal.SIGTERM)
        assert process.communicate("end\n")[0] == "ending by 15\nended\n"  # the first signal that it does not ignore
    assert process.returncode == 0


def test_only_the_first_signal_is_handled_and_without_one_nothing_changes() -> None:
    numbers = (signal.SIGUSR1, signal.SIGUSR2)
    before = [signal.getsignal(number) for number in numbers]
    seen: list[int] = []
    with on_stop_signal(seen.append, numbers):
        pass
    assert [signal.getsignal(number) for number in numbers] == before

    try:
        with on_stop_signal(seen.append, numbers):
            for number in (signal.SIGUSR2, signal.SIGUSR1, signal.SIGUSR2):
                os.kill(os.getpid(), number)
        os.kill(os.getpid(), signal.SIGUSR1)
        assert seen == [signal.SIGUSR2]
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def test_a_handler_may_raise() -> None:
    def interrupt(number: int) -> None:
        raise KeyboardInterrupt

    before = signal.getsignal(signal.SIGUSR1)
    try:
        with pytest.raises(KeyboardInterrupt), on_stop_signal(interrupt, (signal.SIGUSR1,)):
            os.kill(os.getpid(), signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize(
    ("numbers", "kind"),
    [((signal.SIGTERM, signal.SIGINT), TerminatedError), ((signal.SIGINT, signal.SIGTERM), KeyboardInterrupt)],
)
def test_the_first_signal_decides_whatever_becomes_of_the_interruption(
    numbers: Sequence[signal.Signals], kind: type[KeyboardInterrupt], handlers: None
) -> None:
    with pytest.raises(KeyboardInterrupt) as caught, interrupted() as signals:
        try:
            os.kill(os.getpid(), numbers[0])
        except KeyboardInterrupt:
            os.kill(os.getpid(), numbers[1])
            raise RuntimeError("an engine's own error") from None
    assert type(caught.value) is kind
    assert signals.came == numbers[0]


def test_without_a_signal_an_error_is_what_it_was(handlers: None) -> None:
    with pytest.raises(RuntimeError, match="own error"), interrupted():
        raise RuntimeError("own error")


def test_signals_are_taken_back_from_a_library(handlers: None) -> None:
    with pytest.raises(TerminatedError), interrupted() as signals:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signals.install()
        os.kill(os.getpid(), signal.SIGTERM)


def test_the_exit_code_after_sigterm(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def stopped(argv: list[str]) -> int:
        raise TerminatedError

    monkeypatch.setattr(cli, "_dispatch", stopped)
    assert cli.main([]) == 143
    assert capsys.readouterr().err == "pfedgp: Stopped.\n"


LATE = """
import os, signal, sys
from pfedgp.cli import main

code = main()
for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
    os.kill(os.getpid(), number)
sys.exit(code)
"""


@pytest.mark.parametrize(("verb", "code"), [("settings", 0), ("no-such-verb", 2)])
def test_a_signal_after_the_outcome_changes_no_exit_code(verb: str, code: int) -> None:
    done = subprocess.run([sys.executable, "-c", LATE, verb], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_a_call_within_a_program_leaves_its_signals_alone(capsys: pytest.CaptureFixture[str]) -> None:
    before = [signal.getsignal(number) for number in STOP_SIGNALS]
    assert cli.main(["no-such-verb"]) == 2
    assert [signal.getsignal(number) for number in STOP_SIGNALS] == before


# Interrupts its parent as soon as that one stops it, and leaves a child in a session of its own that does not end.
BREAKS_CLEANUP = """
import os, signal, subprocess, sys, time

def end(number, frame):
    os.kill(os.getppid(), signal.SIGINT)
    os.kill(os.getppid(), signal.SIGTERM)
    sys.exit()

signal.signal(signal.SIGTERM, end)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print("ready", child.pid, flush=True)
while True:
    time.sleep(600)
"""


@pytest.mark.slow
def test_no_signal_cuts_the_end_of_the_processes_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, handlers: None
) -> None:
    monkeypatch.setattr(local_processes, "STOP_TIMEOUT", 5.0)
    with LocalFlower(tmp_path) as flower:
        flower._start("superlink", sys.executable, "-c", BREAKS_CLEANUP)
        wait_for(lambda: "ready" in flower.tail("superlink"), 60, "the process")
        child = int(flower.tail("superlink").split()[1])
        assert is_alive(child)
    assert flower.processes["superlink"].poll() == 0
    wait_for(lambda: not is_alive(child), 10, "the end of the child")


STARTS_AND_WAITS = """
import sys, time
from pathlib import Path
from pfedgp.local.processes import LocalFlower

flower = LocalFlower(Path(sys.argv[1]))
flower._start("superlink", sys.executable, "-c", "import time; time.sleep(600)")
print(flower.processes["superlink"].pid, flush=True)
time.sleep(600)
"""


def test_the_processes_end_with_the_one_that_started_them(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS_AND_WAITS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        child = int(process.stdout.readline())
        assert is_alive(child)
        process.kill()
    wait_for(lambda: not is_alive(child), 10, "the end of the child")


def stopped_in_round_1(
    program: Program, numbers: Sequence[signal.Signals], first: str = ""
) -> tuple[int, dict[int, str]]:
    """Send a signal, and the others once a process named `first` is gone; return the exit code and its processes."""
    program.says(r"^round +1/", 120)
    below = children(program.pid)
    ending = [pid for pid, command in below.items() if first in command]
    assert ending
    program.process.send_signal(numbers[0])
    for number in numbers[1:]:
        wait_for(lambda: not all(map(is_alive, ending)), 60, "the end of its first process")
        program.process.send_signal(number)
    return program.ends(120), below


SIMULATE = ("simulate", "--clients", "5", "--rounds", "2000", "--workers", "1", "--set", "clients-per-round=2")


def deploy(folder: Path) -> Program:
    """A local deployment with its temporary files in ``tmp``."""
    (folder / "tmp").mkdir()
    command = ("deploy-local", "--sites", "2", "--rounds", "2000", "--out", str(folder / "run"))
    return Program(folder / "log", Host(), command, {"TMPDIR": str(folder / "tmp")})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("numbers", "code"),
    [
        ([signal.SIGTERM], 143),
        ([signal.SIGTERM, signal.SIGTERM, signal.SIGINT], 143),
        ([signal.SIGINT, signal.SIGTERM], 130),
    ],
)
@pytest.mark.parametrize(("engine", "first"), [("pool", "pool.nursery"), ("ray", "/raylet ")])
def test_a_simulation_ends_in_order(
    tmp_path: Path, engine: str, first: str, numbers: list[signal.Signals], code: int
) -> None:
    command = [*SIMULATE, "--engine", engine, "--out", str(tmp_path / "run")]
    with Program(tmp_path / "log", Host(), command) as program:
        # Earlier, for some milliseconds, Ray has given SIGTERM its default action.
        ended, below = stopped_in_round_1(program, numbers, first=first)
    assert ended == code, program.text[-2000:]
    assert program.text.endswith("\npfedgp: Stopped.\n")
    assert "received" not in program.text
    assert "Traceback" not in program.text
    wait_for(lambda: not any(map(is_alive, below)), 10, "the end of all processes")
    summary = json.loads((tmp_path / "run/summary.json").read_text())
    assert summary["status"] == "failed"
    assert summary["reason"].startswith(f"The run was stopped by {numbers[0].name}. Go on after round ")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("numbers", "code"),
    [([signal.SIGTERM, signal.SIGTERM, signal.SIGINT], 143), ([signal.SIGINT, signal.SIGINT, signal.SIGTERM], 130)],
)
def test_a_local_deployment_ends_in_order(tmp_path: Path, numbers: list[signal.Signals], code: int) -> None:
    with deploy(tmp_path) as program:
        ended, below = stopped_in_round_1(program, numbers)
        alive = [command for pid, command in below.items() if is_alive(pid)]
    assert ended == code, program.text[-2000:]
    assert alive == [], program.text[-2000:]
    assert program.text.endswith("\npfedgp: Stopped.\n")
    assert "Traceback" not in program.text
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.slow
def test_a_killed_local_deployment_leaves_no_process(tmp_path: Path) -> None:
    with deploy(tmp_path) as program:
        ended, below = stopped_in_round_1(program, [signal.SIGKILL])
    assert ended == -signal.SIGKILL
    wait_for(lambda: not any(map(is_alive, below)), 60, "the end of all processes")
