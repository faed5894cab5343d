"""The grid that hands messages straight to a back end, with one that answers in this process."""

import threading
import time
from collections.abc import Callable

import pytest
from flwr.app import Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.server.superlink.fleet.vce.backend import Backend
from flwr.supercore.run import Run

from pfedgp.local.pool.backend import PoolEndedError
from pfedgp.local.pool.crew import WorkerEndedError
from pfedgp.local.pool.grid import PoolGrid
from pfedgp_core.errors import RunFailedError
from server.flower.messages import exchange
from tests.pool_apps import request
from tests.waiting import wait_for


class Echo(Backend):
    """Answers with the number of messages that the client has seen; raises what it is given."""

    def __init__(self, workers: int = 2) -> None:
        self.workers = workers
        self.raises: Exception | None = None
        self.free = threading.Event()
        self.free.set()
        self.asked: list[int] = []

    def build(self, app_fn: Callable[[], ClientApp]) -> None:
        raise NotImplementedError

    @property
    def num_workers(self) -> int:
        return self.workers

    def is_worker_idle(self) -> bool:
        return True

    def terminate(self) -> None:
        raise NotImplementedError

    def process_message(self, message: Message, context: Context) -> tuple[Message, Context]:
        self.free.wait(60)
        if self.raises is not None:
            raise self.raises
        self.asked.append(int(context.node_config["partition-id"]))
        seen = int(context.state.metric_records.get("seen", {"n": 0})["n"]) + 1  # type: ignore[arg-type, call-overload]
        context.state["seen"] = MetricRecord({"n": seen})
        return Message(RecordDict({"seen": MetricRecord({"n": seen})}), reply_to=message), context


def started(backend: Backend, nodes: int = 4) -> PoolGrid:
    grid = PoolGrid(backend, nodes, Run.create_empty(7))
    grid.start(lambda: None)
    return grid


def test_every_node_has_its_own_context() -> None:
    grid = started(Echo())
    nodes = grid.get_node_ids()
    assert [node.node_id for node in grid.get_nodes()] == nodes
    for _ in range(2):
        replies = [*exchange(grid, [request(node=node) for node in nodes], 60.0, window=3)]
    assert {reply.metadata.src_node_id for reply in replies} == set(nodes)
    assert {reply.content.metric_records["seen"]["n"] for reply in replies} == {2}
    assert grid.run.run_id == 7


class Slow(Echo):
    """Makes the client's next state some time after it has read the former one, as a worker process does."""

    def process_message(self, message: Message, context: Context) -> tuple[Message, Context]:
        before = context.state.metric_records.get("seen", {"n": 0})["n"]
        time.sleep(0.05)
        seen = RecordDict({"seen": MetricRecord({"n": before + 1})})  # type: ignore[operator]
        return Message(seen, reply_to=message), Context(7, context.node_id, context.node_config, seen, {})


def test_two_messages_to_one_client_are_answered_one_after_the_other() -> None:
    grid = started(Slow(workers=2))
    (node, *_) = grid.get_node_ids()
    replies = [*exchange(grid, [request(node=node) for _ in range(4)], 60.0, window=4)]
    assert sorted(int(reply.content.metric_records["seen"]["n"]) for reply in replies) == [1, 2, 3, 4]  # type: ignore[arg-type]


def test_partitions_are_in_the_order_of_the_nodes() -> None:
    backend = Echo(workers=1)
    grid = started(backend)
    assert len([*exchange(grid, [request(node=node) for node in grid.get_node_ids()], 60.0)]) == 4
    assert backend.asked == [0, 1, 2, 3]


def test_flowers_own_exchange_works_too() -> None:
    grid = started(Echo())
    replies = grid.send_and_receive([request(node=node) for node in grid.get_node_ids()])
    assert len(replies) == 4


def test_flowers_own_exchange_ends_in_time() -> None:
    backend = Echo()
    backend.free.clear()
    assert started(backend).send_and_receive([request()], timeout=0.05) == []
    backend.free.set()


def test_a_wait_ends_with_a_reply() -> None:
    backend = Echo()
    backend.free.clear()
    grid = started(backend)
    (asked,) = grid.push_messages([request()])
    began = time.monotonic()
    threading.Timer(0.05, backend.free.set).start()
    while not grid.pull_messages([asked]):
        grid.wait(300.0)
    assert time.monotonic() - began < 200.0


def test_an_expired_request_is_not_worked_on() -> None:
    backend = Echo(workers=1)
    backend.free.clear()
    grid = started(backend)
    asked = grid.push_messages([request(node=2), request(node=3, ttl=0.01)])
    time.sleep(0.05)
    backend.free.set()
    replies: list[Message] = []
    wait_for(lambda: replies.extend(grid.pull_messages(asked)) or len(replies) == 2, 60, "both replies")
    assert [reply.error.code for reply in replies if reply.has_error()] == [3]
    assert backend.asked == [0]


def test_replies_that_nobody_takes_are_forgotten_when_their_request_has_expired() -> None:
    grid = started(Echo())
    for _ in range(5):
        grid.push_messages([request(ttl=0.2)])
    wait_for(lambda: len(grid._replies) == 5, 60, "the replies")
    time.sleep(0.3)
    grid.push_messages([])
    assert grid._replies == {}


def test_a_node_that_is_none() -> None:
    grid = started(Echo())
    (reply,) = exchange(grid, [request(node=99)], 60.0)
    assert reply.error.code == 5


@pytest.mark.parametrize(("error", "code"), [(WorkerEndedError(), 8), (KeyError("x"), 0)])
def test_a_message_that_fails_is_answered(error: Exception, code: int) -> None:
    backend = Echo()
    backend.raises = error
    (reply,) = exchange(started(backend), [request()], 60.0)
    assert reply.error.code == code


def test_a_back_end_that_cannot_go_on_ends_the_run() -> None:
    backend = Echo()
    backend.raises = RunFailedError("no memory")
    with pytest.raises(RunFailedError, match="no memory"):
        next(iter(exchange(started(backend), [request()], 60.0)))


def test_a_back_end_that_does_not_start_ends_the_run() -> None:
    def never() -> None:
        raise RunFailedError("no such package")

    grid = PoolGrid(Echo(), 1, Run.create_empty(7))
    grid.start(never)
    with pytest.raises(RunFailedError, match="no such package"):
        next(iter(exchange(grid, [request()], 60.0)))


@pytest.mark.parametrize("ends", [PoolEndedError(), None])
def test_its_threads_end(ends: Exception | None) -> None:
    # A grid of a former test may still be about to start its threads.
    wait_for(lambda: all(thread.name != "pool-start" for thread in threading.enumerate()), 60, "former grids")
    before = set(threading.enumerate())
    backend = Echo()
    backend.raises = ends
    grid = started(backend)
    wait_for(lambda: len(set(threading.enumerate()) - before) == 2, 60, "the threads")
    if ends is None:
        grid.stop()
    else:
        grid.push_messages([request(), request(node=3)])
    wait_for(lambda: not set(threading.enumerate()) - before, 60, "the end of the threads")
