"""Objects come and go with their messages, on Flower's own state in memory and in a database."""

import types
from typing import Any

import pytest
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.common.serde import message_to_proto
from flwr.proto.fleet_pb2 import PullMessagesRequest, PushMessagesRequest
from flwr.proto.message_pb2 import PushObjectRequest
from flwr.proto.node_pb2 import Node
from flwr.proto.runtime_pb2 import PullAppMessagesRequest, PushAppMessagesRequest
from flwr.server.superlink.fleet.message_handler import message_handler
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree
from flwr.superlink.servicer.runtime import runtime_handlers

from pfedgp.operator.inside_superlink import carried_objects
from pfedgp.operator.inside_superlink.carried_objects import CarriedObjects
from pfedgp_core.wire import carried
from pfedgp_core.wire.carried import MOST, WANTED, attach, detach
from tests.pfedgp.operator.inside_superlink.test_kept_replies import SuperLink as Stock


class SuperLink(Stock):
    """One that takes and gives objects with messages, after the other patches of it."""

    def __init__(self, database: str) -> None:
        super().__init__(database)
        self.handler.push_messages = message_handler.push_messages
        self.runtime.push_messages = runtime_handlers.push_messages
        CarriedObjects(self.handler, self.runtime).apply()

    def send(self, run: int, message: Message, contents: dict[str, bytes]) -> list[str]:
        """Let a server app send a request; the ids that it is asked for."""
        asked = PushAppMessagesRequest(
            messages_list=[announced(message, contents)], message_object_trees=[tree(message)]
        )
        answer = self.runtime.push_messages(asked, self.state, types.SimpleNamespace(run_id=run))
        assert list(answer.message_ids) == [message.metadata.message_id]
        return list(answer.objects_to_push)

    def look(self, node: int, wanted: bool = True) -> dict[str, bytes]:
        """What the request that a site is given carries."""
        answer = self.handler.pull_messages(
            request=PullMessagesRequest(node=Node(node_id=node), message_ids=[WANTED] if wanted else []),
            state=self.state,
            store=self.store,
        )
        (message,) = answer.messages_list
        return detach(message)

    def reply(self, node: int, reply: Message, contents: dict[str, bytes]) -> list[str]:
        """Let a site send a reply; the ids that it is asked for."""
        asked = PushMessagesRequest(
            node=Node(node_id=node),
            messages_list=[announced(reply, contents)],
            message_object_trees=[tree(reply)],
            clientapp_runtime_list=[1.0],
        )
        answer = self.handler.push_messages(request=asked, state=self.state)
        self.session = answer.session_id
        return list(answer.objects_to_push)

    def fetch(self, run: int, request: str) -> dict[str, bytes]:
        """What the reply to a request carries to the server app."""
        answer = self.runtime.pull_messages(
            PullAppMessagesRequest(message_ids=[request]), self.state, types.SimpleNamespace(run_id=run)
        )
        (message,) = answer.messages_list
        return detach(message)

    def traffic(self, run: int) -> tuple[int, int]:
        (info,) = self.state.get_run_info(run_ids=[run])
        return info.bytes_sent, info.bytes_recv


def tree(message: Message) -> Any:
    return get_object_tree(message)


def announced(message: Message, contents: dict[str, bytes]) -> Any:
    proto = message_to_proto(remove_content_from_message(message))
    attach(proto, contents)
    return proto


def request_to(run: int, node: int, value: int = 1) -> Message:
    message = Message(RecordDict({"a": ConfigRecord({"b": value})}), dst_node_id=node, message_type="train")
    message.metadata.__dict__.update(_run_id=run, _src_node_id=SUPERLINK_NODE_ID)
    message.metadata.__dict__["_message_id"] = message.object_id
    return message


def reply_to(request: Message) -> Message:
    reply = Message(RecordDict({"c": ConfigRecord({"d": 2})}), reply_to=request)
    reply.metadata.__dict__["_ttl"] -= 600.0
    reply.metadata.__dict__["_message_id"] = reply.object_id
    return reply


def contents_of(message: Message) -> dict[str, bytes]:
    return {key: part.deflate() for key, part in get_all_nested_objects(message).items()}


@pytest.mark.slow
def test_a_message_there_and_back_needs_no_call_for_an_object(database: str) -> None:
    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = request_to(run, node)
    assert link.send(run, request, contents_of(request)) == []
    assert link.look(node) == contents_of(request)
    reply = reply_to(request)
    assert link.reply(node, reply, contents_of(reply)) == []
    assert link.fetch(run, request.metadata.message_id) == contents_of(reply)
    sent, received = link.traffic(run)
    assert sent > sum(map(len, contents_of(request).values()))
    assert received > sum(map(len, contents_of(reply).values()))


def test_who_does_not_ask_gets_objects_by_calls(database: str) -> None:
    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = request_to(run, node)
    assert set(link.send(run, request, {})) == set(contents_of(request))
    assert link.look(node, wanted=False) == {}
    reply = reply_to(request)
    assert link.reply(node, reply, contents_of(reply)) == []
    assert link.fetch(run, request.metadata.message_id) == {}


def test_objects_that_have_not_come_are_not_given(database: str) -> None:
    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = request_to(run, node)
    first, *others = contents_of(request).items()
    assert set(link.send(run, request, dict([first]))) == {key for key, _ in others}
    assert link.look(node) == dict([first])


def test_a_content_with_another_hash_is_asked_for_and_can_then_come(database: str) -> None:
    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = request_to(run, node)
    link.send(run, request, contents_of(request))
    link.look(node)
    reply = reply_to(request)
    forged = contents_of(request_to(run, node, 7))
    assert set(link.reply(node, reply, dict.fromkeys(contents_of(reply), next(iter(forged.values()))))) == set(
        contents_of(reply)
    )
    for object_id, content in contents_of(reply).items():
        pushed = PushObjectRequest(
            node=Node(node_id=node), run_id=run, session_id=link.session, object_id=object_id, object_content=content
        )
        assert message_handler.push_object(pushed, link.state).stored


def test_what_no_message_has_announced_is_not_stored(database: str) -> None:
    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request, other = request_to(run, node), request_to(run, node, 7)
    link.send(run, request, contents_of(request) | contents_of(other))
    assert other.object_id not in link.store


def test_replies_of_one_look_carry_so_much_together(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server app holds the vector of one reply at a time."""
    from pfedgp.operator.inside_superlink import carried_objects

    link = SuperLink(database)
    run, nodes = link.start_run(), [link.register(b"a"), link.register(b"b")]
    requests = [request_to(run, node) for node in nodes]
    for node, request in zip(nodes, requests, strict=True):
        link.send(run, request, contents_of(request))
        link.look(node)
        reply = reply_to(request)
        link.reply(node, reply, contents_of(reply))
    size = sum(map(len, contents_of(reply_to(requests[0])).values()))
    monkeypatch.setattr(carried_objects, "MOST", size + 10)
    asked = PullAppMessagesRequest(message_ids=[request.metadata.message_id for request in requests])
    answer = link.runtime.pull_messages(asked, link.state, types.SimpleNamespace(run_id=run))
    first, second = answer.messages_list
    assert (len(detach(first)), len(detach(second))) == (3, 0)


def test_an_error_reply_comes_by_calls(database: str) -> None:
    from flwr.app import Error

    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = request_to(run, node)
    link.send(run, request, contents_of(request))
    link.look(node)
    error = Message(Error(2, "no"), reply_to=request)
    error.metadata.__dict__["_ttl"] -= 600.0
    error.metadata.__dict__["_message_id"] = error.object_id
    assert link.reply(node, error, {}) == [error.object_id]


def test_flower_has_what_it_needs() -> None:
    assert CarriedObjects().missing() == ""
    assert carried.RECORD not in ("arrays", "config", "metrics")


def test_a_reply_of_very_many_objects_is_fetched_by_calls(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site makes the tree of its reply; one query for all of its objects would fail, for all replies of the look."""
    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = request_to(run, node)
    link.send(run, request, contents_of(request))
    link.look(node)
    reply = reply_to(request)
    assert link.reply(node, reply, contents_of(reply)) == []
    monkeypatch.setattr(carried_objects, "CARRIED", len(contents_of(reply)) - 1)
    assert link.fetch(run, request.metadata.message_id) == {}


def test_no_content_is_read_for_which_there_is_no_room(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    link = SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = request_to(run, node)
    link.send(run, request, contents_of(request))
    found = carried_objects._contents(link.store, list(contents_of(request)), MOST)
    assert found == contents_of(request)
    first = next(iter(found))
    if hasattr(link.store, "session"):
        assert carried_objects._contents(link.store, list(found), len(found[first])) == {first: found[first]}
