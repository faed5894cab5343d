"""A process that was told to end ends in a stated time, whatever its libraries do."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import psutil
import pytest

from tests.waiting import wait_for

HEEDS = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
# Stands for an engine that hangs: the main thread takes no interruption, another thread never ends, and a child sleeps.
HANGS = """
import subprocess, sys, threading, time
from pfedgp.processes.signals import interrupted

child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
threading.Thread(target=threading.Event().wait).start()
with interrupted({grace}):
    while True:
        try:  # the line is printed within it, because the signal may come before the next instruction
            print("ready", child.pid, flush=True)
            time.sleep(600)
        except KeyboardInterrupt:
            pass
"""
# Stands for one that returns after the signal and leaves a thread behind, for which Python waits at its end.
LEAVES_A_THREAD = """
import sys, threading, time
from pfedgp import cli
from pfedgp.processes.signals import interrupted

def simulate(argv):
    sys.modules["ray"] = sys.modules["time"]
    threading.Thread(target=threading.Event().wait).start()
    with interrupted():
        print("ready", flush=True)
        time.sleep(600)

cli._dispatch = simulate
sys.exit(cli.main())
"""


# Ends in order, and is still there when its grace is over.
ENDS = """
import time
from pfedgp.processes.signals import interrupted

try:
    with interrupted(1.0):
        print("ready", flush=True)
        time.sleep(600)
except KeyboardInterrupt:
    time.sleep(3)
    print("ended by itself")
"""


@contextmanager
def running(code: str) -> "Iterator[subprocess.Popen[str]]":
    """A Python process that heeds Ctrl-C, as one in the background of a shell does not."""
    process = subprocess.Popen(
        [sys.executable, "-c", f"{HEEDS}\n{code}"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    with process:
        try:
            yield process
        finally:
            process.kill()


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    return process.stdout.readline()


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_an_engine_that_hangs_is_ended_with_all_below_it(number: signal.Signals, code: int) -> None:
    with running(HANGS.format(grace=0.5)) as process:
        child = psutil.Process(int(first_line(process).split()[1]))
        process.send_signal(number)
        assert process.communicate(timeout=60)[1] == "pfedgp: Stopped.\n"
    assert process.returncode == code
    wait_for(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE, 30, "the end of the child")


def test_a_thread_that_an_engine_leaves_behind_keeps_no_command() -> None:
    with running(LEAVES_A_THREAD) as process:
        assert first_line(process) == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60)[1] == "pfedgp: Stopped.\n"
    assert process.returncode == 143


@pytest.mark.slow
def test_a_block_that_ends_in_time_is_left_alone() -> None:
    with running(ENDS) as process:
        assert first_line(process) == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=60)[0] == "ended by itself\n"
    assert process.returncode == 0
