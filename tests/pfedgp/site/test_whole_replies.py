"""A reply that the SuperLink took in part is announced again, and the rest of it is sent."""

import types
from collections.abc import Callable, Collection
from typing import Any

import flwr.supernode.start_client_internal as supernode_loop
import grpc
import pytest
from flwr.app import ArrayRecord, Message, RecordDict
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.run import Run
from flwr.supernode.nodestate import NodeStateFactory

from pfedgp.site import whole_replies
from pfedgp.site.whole_replies import PAUSES, TIMES, WholeReplies
from tests.waiting import FakeTime

RUN = 7


class SuperLink:
    """Takes objects in the newest try of a reply, each once; `faulty` makes the answers to objects wrong."""

    def __init__(self, objects: Collection[str]) -> None:
        self.objects, self.taken = set(objects), set[str]()
        self.tries = 0
        self.faulty: Callable[[str], bool] = lambda _: False

    def send(self, message: Message, tree: Any, runtime: float) -> tuple[set[str], str]:
        self.tries += 1
        return self.objects - self.taken, str(self.tries)

    def push(self, run: int, session: str, object_id: str, content: bytes) -> None:
        refused = session != str(self.tries) or object_id in self.taken
        if not refused:
            self.taken.add(object_id)
        if refused or self.faulty(object_id):
            raise ObjectPushError(object_id, run, session)


class SuperNode:
    """The part of Flower's SuperNode that sends replies, with one reply of many objects."""

    def __init__(self, mended: bool) -> None:
        store = ObjectStoreFactory()
        self.state, self.store = NodeStateFactory(store).state(), store.store()
        self.state.set_node_id(1)
        self.state.store_run(Run.create_empty(RUN))
        self.loop: Any = types.SimpleNamespace(_push_messages=supernode_loop._push_messages)
        if mended:
            WholeReplies(self.loop).apply()
        request = Message(RecordDict(), dst_node_id=1, message_type="train")
        request.metadata.__dict__["_run_id"] = RUN
        request.metadata.__dict__["_message_id"] = request.object_id
        self.state.store_message(request)
        reply = Message(RecordDict({"a": ArrayRecord(), "b": ArrayRecord()}), reply_to=request)
        reply.metadata.__dict__["_message_id"] = reply.object_id
        self.state.store_message(reply)
        self.store.preregister(RUN, get_object_tree(reply))
        self.objects = get_all_nested_objects(reply)
        for object_id, part in self.objects.items():
            self.store.put(object_id, part.deflate())

    def push(self, link: SuperLink) -> None:
        self.loop._push_messages(state=self.state, object_store=self.store, send=link.send, push_object=link.push)
        assert self.state.get_messages(is_reply=True) == []


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """The clock of the pauses."""
    fake = FakeTime()
    monkeypatch.setattr(whole_replies, "time", fake)
    return fake


@pytest.fixture(autouse=True)
def _times_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply without a task has no duration."""
    state = type(NodeStateFactory(ObjectStoreFactory()).state())
    monkeypatch.setattr(state, "get_message_processing_duration", lambda self, message_id: 0.0)


@pytest.mark.parametrize("mended", [False, True])
def test_an_object_that_was_taken_without_a_word(mended: bool) -> None:
    node = SuperNode(mended)
    link = SuperLink(node.objects)
    silent = iter([True])
    link.faulty = lambda _: next(silent, False)
    node.push(link)
    # Flower's own behaviour, for as long as this file is needed: the reply is dropped, and parts are missing.
    assert (link.taken == link.objects) == mended
    assert link.tries == (2 if mended else 1)


def test_a_superlink_that_has_forgotten_the_try() -> None:
    node = SuperNode(mended=True)
    link = SuperLink(node.objects)
    first = link.send

    def forgetful(*reply: Any) -> tuple[set[str], str]:
        answer = first(*reply)
        link.tries = max(link.tries, 2)  # what it took the reply for is over
        return answer if answer[1] == "1" else (link.objects - link.taken, str(link.tries))

    link.send = forgetful  # type: ignore[method-assign]
    node.push(link)
    assert link.taken == link.objects


def test_a_reply_that_is_refused_for_ever_is_given_up() -> None:
    node = SuperNode(mended=True)
    link = SuperLink(node.objects)
    link.push = _refuse  # type: ignore[method-assign]
    node.push(link)
    assert not link.taken
    assert 1 < link.tries <= TIMES * len(link.objects)


class Failed(grpc.RpcError):  # type: ignore[misc]
    """What a SuperLink answers when a handler of it has failed, or something else."""

    def __init__(self, code: grpc.StatusCode = grpc.StatusCode.INTERNAL) -> None:
        self.code = lambda: code


@pytest.mark.parametrize("part", ["send", "push"])
def test_a_superlink_that_fails_for_half_a_minute_gets_the_reply(
    part: str, clock: FakeTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = SuperNode(mended=True)
    link = SuperLink(node.objects)
    answer = getattr(link, part)

    def full(*asked: Any) -> Any:
        if clock.now < 1030.0:
            raise Failed
        return answer(*asked)

    monkeypatch.setattr(link, part, full)
    node.push(link)
    assert link.taken == link.objects


def test_one_that_fails_for_ever_or_ends_the_run_is_given_up(clock: FakeTime) -> None:
    for code, seconds in ((grpc.StatusCode.INTERNAL, sum(PAUSES)), (grpc.StatusCode.PERMISSION_DENIED, 0.0)):
        node, began = SuperNode(mended=True), clock.now
        link = SuperLink(node.objects)

        def failing(*_: Any, code: grpc.StatusCode = code) -> Any:
            raise Failed(code)

        link.send = failing  # type: ignore[method-assign]
        node.push(link)
        assert clock.now - began == seconds


def test_a_reply_that_nothing_happens_to_is_announced_once() -> None:
    node = SuperNode(mended=True)
    link = SuperLink(node.objects)
    node.push(link)
    assert link.taken == link.objects
    assert link.tries == 1


def test_a_loop_that_sends_in_another_way_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supernode_loop, "_push_messages", lambda state: None)
    assert WholeReplies().missing().endswith("_push_messages takes no object_store, push_object, send")


def _refuse(run: int, session: str, object_id: str, content: bytes) -> None:
    raise ObjectPushError(object_id, run, session)
