"""A process that has been told to end ends in order, however often it is told."""

import os
import signal
import subprocess
import sys

import pytest

from pfedgp.stop_signals import on_stop_signal

SLOW_END = """
import threading, time
from pfedgp.stop_signals import on_stop_signal

stopped = threading.Event()
with on_stop_signal(lambda number: stopped.set()):
    print("ready", flush=True)
    stopped.wait()
print("ending", flush=True)
time.sleep(1.0)
print("ended")
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_does_not_kill_a_process_that_is_ending(number: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", SLOW_END], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        assert process.stdout.readline() == "ending\n"
        process.send_signal(number)
        assert process.stdout.read() == "ended\n"
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
