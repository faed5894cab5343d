"""A reply whose way to the server app was cut off is handed out again, on Flower's own state in memory and on disk."""

import types
from typing import Any

import pytest
from flwr.app import Message, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID, ErrorCode
from flwr.proto.message_pb2 import ConfirmMessageReceivedRequest
from flwr.proto.node_pb2 import Node
from flwr.proto.runtime_pb2 import PullAppMessagesRequest
from flwr.supercore.inflatable.inflatable_object import get_object_tree
from flwr.superlink.servicer.runtime import runtime_handlers

from pfedgp.operator.inside_superlink.kept_replies import KeptReplies
from tests.pfedgp.operator.inside_superlink.test_redelivery import SuperLink as Requests


class SuperLink(Requests):
    """The part of Flower's SuperLink that hands replies out; another one of the same database is one started again."""

    def __init__(self, database: str, mended: bool = True) -> None:
        super().__init__(database)
        calls = ("pull_messages", "confirm_message_received")
        self.runtime: Any = types.SimpleNamespace(**{name: getattr(runtime_handlers, name) for name in calls})
        if mended:
            KeptReplies(self.runtime).apply()

    def answer(self, run: int, node: int, request: str) -> str:
        """Let a node reply to a request; the reply's id."""
        question = Message(RecordDict(), dst_node_id=node, message_type="train")
        question.metadata.__dict__.update(_run_id=run, _src_node_id=SUPERLINK_NODE_ID, _message_id=request)
        reply = Message(RecordDict(), reply_to=question)
        reply.metadata.__dict__["_ttl"] -= 600.0  # it ends with its request, which is a little older than this copy
        reply.metadata.__dict__["_message_id"] = reply.object_id
        stored, _ = self.state.store_message_and_object_tree(
            reply, get_object_tree(reply), self.state.start_session(run)
        )
        assert stored
        return reply.metadata.message_id

    def replies(self, run: int, *requests: str) -> dict[str, int | None]:
        """The replies to these requests that the server app is given now: id of the request -> code of an error."""
        answer = self.runtime.pull_messages(
            PullAppMessagesRequest(message_ids=requests), self.state, types.SimpleNamespace(run_id=run)
        )
        self.given = [message.metadata.message_id for message in answer.messages_list]
        return {
            message.metadata.reply_to_message_id: message.error.code if message.HasField("error") else None
            for message in answer.messages_list
        }

    def received(self, run: int, reply: str) -> None:
        """The server app has a reply whole."""
        self.runtime.confirm_message_received(
            ConfirmMessageReceivedRequest(node=Node(node_id=SUPERLINK_NODE_ID), run_id=run, message_object_id=reply),
            self.state,
            types.SimpleNamespace(run_id=run),
        )


def answered(link: SuperLink) -> tuple[int, str, str]:
    """A run, its request to a site, and the site's reply."""
    run, node = link.start_run(), link.register(b"a")
    request = link.ask(run, node)
    assert link.pull(node) == [request]
    return run, request, link.answer(run, node, request)


@pytest.mark.slow
def test_flower_hands_a_reply_out_once_and_forgets_its_request(database: str) -> None:
    link = SuperLink(database, mended=False)
    run, request, _ = answered(link)
    assert link.replies(run, request) == {request: None}
    assert link.replies(run, request) == {request: ErrorCode.MESSAGE_UNAVAILABLE}


def test_a_reply_that_is_not_confirmed_is_handed_out_again(database: str) -> None:
    link = SuperLink(database)
    run, request, reply = answered(link)
    assert [link.replies(run, request), link.given] == [{request: None}, [reply]]
    assert [link.replies(run, request), link.given] == [{request: None}, [reply]]


def test_a_confirmed_reply_is_forgotten_with_its_request(database: str) -> None:
    link = SuperLink(database)
    run, request, reply = answered(link)
    link.replies(run, request)
    link.received(run, reply)
    assert (link.state.num_message_ins(), link.state.num_message_res()) == (0, 0)
    assert link.replies(run, request) == {request: ErrorCode.MESSAGE_UNAVAILABLE}


def test_a_reply_without_objects_is_forgotten(database: str) -> None:
    link = SuperLink(database)
    run, request, reply = answered(link)
    link.store.delete(reply)
    assert link.replies(run, request) == {}
    assert link.replies(run, request) == {request: ErrorCode.MESSAGE_UNAVAILABLE}


def test_the_replies_of_two_requests_do_not_depend_on_each_other(database: str) -> None:
    link = SuperLink(database)
    run, first, reply = answered(link)
    node = link.register(b"b")
    second = link.ask(run, node)
    assert link.replies(run, first, second) == {first: None}
    link.received(run, reply)
    link.answer(run, node, second)
    assert link.replies(run, second) == {second: None}


@pytest.mark.parametrize("mended", [False, True])
def test_a_superlink_that_was_killed_before_it_answered(mended: bool, on_disk: str) -> None:
    """It has noted the reply as handed out, and not deleted it yet: the next one never hands it out without us."""
    killed = SuperLink(on_disk)
    run, request, _ = answered(killed)
    assert len(killed.state.get_message_res({request}, run)) == 1
    assert SuperLink(on_disk, mended).replies(run, request) == ({request: None} if mended else {})


def test_the_pinned_flower_has_what_it_needs() -> None:
    assert KeptReplies().missing() == ""
