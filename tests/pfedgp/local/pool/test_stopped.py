"""A process of the pool that is stopped is named, once, and so is its return."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from pfedgp.local.pool import stopped
from pfedgp.local.pool.stopped import LOOK_EVERY, UNNOTICED, StoppedProcesses
from tests.pool_apps import context, pool, request
from tests.waiting import FakeTime, wait_for


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    clock = FakeTime()
    monkeypatch.setattr(stopped, "time", clock)
    return clock


@pytest.fixture
def process() -> Iterator[psutil.Process]:
    """One that does nothing."""
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    with subprocess.Popen(command) as started:
        yield psutil.Process(started.pid)
        started.kill()


def stop(process: psutil.Process) -> None:
    process.suspend()
    wait_for(lambda: process.status() == psutil.STATUS_STOPPED, 60, "the stop")


def go_on(process: psutil.Process) -> None:
    process.resume()
    wait_for(lambda: process.status() != psutil.STATUS_STOPPED, 60, "that it goes on")


def test_one_that_is_stopped_for_long_is_named_once(
    clock: FakeTime, process: psutil.Process, caplog: pytest.LogCaptureFixture
) -> None:
    watch = StoppedProcesses(lambda: [process.pid, os.getpid()])
    stop(process)
    for _ in range(4):
        watch.look()
        clock.now += UNNOTICED
    (said,) = caplog.messages
    assert said == (
        f"process {process.pid} of the simulation has been stopped for {UNNOTICED:.0f} s, and the run waits for it: "
        f"kill -CONT {process.pid} lets it go on"
    )


def test_one_that_goes_on_is_named_with_its_time(
    clock: FakeTime, process: psutil.Process, caplog: pytest.LogCaptureFixture
) -> None:
    watch = StoppedProcesses(lambda: [process.pid])
    stop(process)
    watch.look()
    clock.now += 60
    watch.look()
    go_on(process)
    watch.look()
    watch.look()
    assert caplog.messages[1:] == [f"process {process.pid} of the simulation goes on, or has ended, after 60 s"]


def test_one_that_is_stopped_for_a_moment_costs_no_line(
    clock: FakeTime, process: psutil.Process, caplog: pytest.LogCaptureFixture
) -> None:
    watch = StoppedProcesses(lambda: [process.pid])
    for _ in range(2):
        stop(process)
        watch.look()
        clock.now += UNNOTICED / 2
        go_on(process)
        watch.look()
        clock.now += UNNOTICED
    assert caplog.messages == []


def test_one_that_was_named_and_has_ended_is_looked_at_no_more(
    clock: FakeTime, process: psutil.Process, caplog: pytest.LogCaptureFixture
) -> None:
    pids = [process.pid]
    watch = StoppedProcesses(lambda: pids)
    stop(process)
    watch.look()
    clock.now += UNNOTICED
    watch.look()
    pids.clear()
    watch.look()
    assert caplog.messages[1:] == [
        f"process {process.pid} of the simulation goes on, or has ended, after {UNNOTICED:.0f} s"
    ]


@pytest.mark.slow
def test_the_pool_waits_for_a_stopped_worker_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "pfedgp")
    monkeypatch.setattr(stopped, "UNNOTICED", 0.0)
    monkeypatch.setattr(stopped, "LOOK_EVERY", LOOK_EVERY / 20)
    with pool(tmp_path) as backend, ThreadPoolExecutor(1) as thread:
        reply, _ = backend.process_message(request(), context())
        pid = int(reply.content.metric_records["answer"]["pid"])  # type: ignore[call-overload]
        os.kill(pid, signal.SIGSTOP)
        try:
            asked = thread.submit(backend.process_message, request(), context())
            wait_for(lambda: f"process {pid} of the simulation has been stopped" in caplog.text, 60, "the line")
            assert not asked.done()
        finally:
            os.kill(pid, signal.SIGCONT)
        reply, _ = asked.result(60)
        assert reply.content.metric_records["answer"]["pid"] == pid
        wait_for(lambda: f"process {pid} of the simulation goes on" in caplog.text, 60, "the line of its return")
