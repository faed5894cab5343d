"""The back end of worker processes: shared start, clients' states, workers that die, and the end."""

import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord
from numpy.testing import assert_array_equal

from pfedgp.local.pool.backend import PoolBackend, PoolEndedError
from pfedgp.local.pool.crew import WorkerEndedError
from pfedgp_core.errors import RunFailedError
from tests.deploy.program import children, is_alive
from tests.pool_apps import Enter, Prepare, context, load_nothing, pool, request
from tests.waiting import wait_for

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pool")


@pytest.fixture(scope="module")
def backend(folder: Path) -> Iterator[PoolBackend]:
    """Two workers that all tests share, as a start takes seconds."""
    with pool(folder, workers=2) as backend:
        yield backend


def test_a_clients_state_goes_with_its_messages(backend: PoolBackend) -> None:
    first, second, pids = context(2), context(3), set()
    for expected in (1, 2, 3):
        reply, first = backend.process_message(request(), first)
        assert reply.content.metric_records["answer"]["n"] == expected
        pids.add(reply.content.metric_records["answer"]["pid"])
    reply, _ = backend.process_message(request(node=3), second)
    assert reply.content.metric_records["answer"]["n"] == 1
    assert len(pids) == 2  # each worker had its turn


def test_arrays_arrive_as_they_were_sent(backend: PoolBackend) -> None:
    vector = np.random.default_rng(0).standard_normal(300_000).astype(np.float32)
    message = request()
    message.content["arrays"] = ArrayRecord({"v": Array(vector)})
    reply, _ = backend.process_message(message, context())
    assert_array_equal(reply.content.array_records["arrays"]["v"].numpy(), vector)
    assert backend.client_seconds > 0


def test_all_workers_come_from_one_process_that_has_loaded_once_and_has_one_thread(
    backend: PoolBackend, folder: Path, tmp_path: Path
) -> None:
    before = (folder / "entered").read_text().splitlines()
    backend.process_message(request("die once", tmp_path / "died"), context())
    assert (folder / "prepared").read_text() == "1 threads\n"
    entered = (folder / "entered").read_text().splitlines()
    assert {"0 1", "1 1"} == set(entered)  # places in the pool, and threads
    assert len(entered) == len(before) + 1


def test_a_worker_that_dies_is_started_again_and_its_message_repeated(
    backend: PoolBackend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "pfedgp")
    reply, _ = backend.process_message(request("die once", tmp_path / "died"), context())
    assert reply.content.metric_records["answer"]["n"] == 1  # the state of the dead one is forgotten
    (said,) = caplog.messages
    assert said.startswith("a worker process ended (SIGKILL) with a train request to client 0: it is started again")
    assert said.endswith("and the request is repeated")


def test_a_message_that_kills_two_workers_fails_and_the_next_one_does_not(
    backend: PoolBackend, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(WorkerEndedError):
        backend.process_message(request("die", tmp_path / "died"), context())
    reply, _ = backend.process_message(request(), context())
    assert reply.content.metric_records["answer"]["n"] == 1
    assert caplog.messages[-1].endswith("and the request fails")


def test_what_an_app_raises_is_flowers_error_reply(backend: PoolBackend) -> None:
    reply, _ = backend.process_message(request("raise"), context())
    assert reply.error.code == 2
    assert "a mistake of this app" in str(reply.error.reason)


def test_an_app_that_does_not_load_is_named(tmp_path: Path) -> None:
    backend = PoolBackend(1, Prepare(tmp_path / "p"), Enter(tmp_path / "e"))
    backend.build(load_nothing)
    try:
        with pytest.raises(RunFailedError, match="do not start: ImportError: No module named 'scanner'"):
            backend.wait_ready()
    finally:
        backend.terminate()


def test_the_end_does_not_wait_for_a_worker_that_is_busy(tmp_path: Path) -> None:
    with pool(tmp_path, workers=2) as backend, ThreadPoolExecutor(1) as thread:
        assert backend.num_workers == 2
        asked = thread.submit(backend.process_message, request("wait", tmp_path / "busy"), context())
        wait_for((tmp_path / "busy").exists, 60, "the worker")
        assert backend.is_worker_idle()
        reply, _ = backend.process_message(request(node=3), context(3))  # beside the busy one
        assert reply.content.metric_records["answer"]["n"] == 1
        below = [*children(backend._crew._nursery.pid)]  # type: ignore[union-attr]
        assert len(below) == 2
        backend.terminate()
        assert isinstance(asked.exception(60), PoolEndedError)
        wait_for(lambda: not any(map(is_alive, below)), 10, "the end of all processes")


def test_without_the_process_that_workers_come_from_the_run_fails(tmp_path: Path) -> None:
    with pool(tmp_path) as backend:
        below = [*children(backend._crew._nursery.pid)]  # type: ignore[union-attr]
        os.kill(backend._crew._nursery.pid, signal.SIGKILL)  # type: ignore[union-attr]
        wait_for(lambda: not any(map(is_alive, below)), 10, "the end of the worker with it")
        with pytest.raises(RunFailedError, match=r"that the workers come from has ended \(SIGKILL\)"):
            backend.process_message(request(), context())


STARTS_AND_WAITS = """
import sys, time
from pathlib import Path
from tests.pool_apps import pool

with pool(Path(sys.argv[1]), workers=2):
    print("ready", flush=True)
    time.sleep(600)
"""


def test_no_process_outlives_a_driver_that_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", STARTS_AND_WAITS, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        below = [*children(process.pid)]
        assert len(below) == 3
        process.kill()
    wait_for(lambda: not any(map(is_alive, below)), 10, "the end of all processes")
