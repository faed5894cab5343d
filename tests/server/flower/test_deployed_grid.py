"""Messages whose objects do not come, or are refused, as after a SuperLink that died in between."""

import threading
import time
from typing import Any

import httpx
import pytest
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.app.message import remove_content_from_message
from flwr.common.serde import message_to_proto
from flwr.proto.message_pb2 import PullObjectResponse, PushObjectResponse
from flwr.proto.runtime_pb2 import PullAppMessagesResponse, PushAppMessagesResponse
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree, no_object_id_recompute
from flwr.supercore.run import Run
from flwr.superlink.grid.http_grid import HttpGrid

from pfedgp_core.wire.carried import ids_of
from server.flower import grid as patient_grid
from server.flower.grid import PatientGrid
from server.flower.messages import exchange, request
from server.flower.patches import guarded
from server.flower.reply_checks import error_reason


class SuperLink:
    """What the grid's HTTP client stands for: takes requests, and answers each with the reply that `replies` names.

    Parameters
    ----------
    missing : set of int
        Nodes whose replies are announced and never come.
    refuse : int
        So many objects are refused before one is taken.
    """

    def __init__(self, missing: set[int] = frozenset(), refuse: int = 0) -> None:  # type: ignore[assignment]
        self.missing, self.refuse = missing, refuse
        self.late: set[int] = set()  # nodes that answer once the grid has looked for an object in vain
        self.sessions = 0
        self.stored: dict[str, bytes] = {}
        self._pending: set[str] = set()
        self._replies: dict[str, tuple[int, Message]] = {}
        self._objects: dict[str, bytes] = {}
        self._looked = threading.Event()

    def PushMessages(self, asked: Any) -> PushAppMessagesResponse:
        self.sessions += 1
        for message, tree in zip(asked.messages_list, asked.message_object_trees, strict=True):
            self._pending |= set(ids_of(tree))
            node, message_id = message.metadata.dst_node_id, message.metadata.message_id
            question = Message(RecordDict(), dst_node_id=node, message_type="train", ttl=60.0)
            question.metadata.__dict__["_message_id"] = message_id
            self._replies[message_id] = (
                node,
                Message(RecordDict({"node": ConfigRecord({"id": node})}), reply_to=question),
            )
        ids = [message.metadata.message_id for message in asked.messages_list]
        return PushAppMessagesResponse(
            message_ids=ids, objects_to_push=self._pending - set(self.stored), session_id=str(self.sessions)
        )

    def PushObject(self, asked: Any) -> PushObjectResponse:
        if self.refuse:
            self.refuse -= 1
            return PushObjectResponse(stored=False)
        self.stored[asked.object_id] = asked.object_content
        return PushObjectResponse(stored=True)

    def PullMessages(self, asked: Any) -> PullAppMessagesResponse:
        answer = PullAppMessagesResponse()
        for message_id in sorted(set(asked.message_ids) & set(self._replies), key=lambda key: self._replies[key][0]):
            node, reply = self._replies[message_id]
            if node in self.late and not self._looked.is_set():
                continue
            del self._replies[message_id]
            reply.metadata.__dict__["_message_id"] = reply.object_id
            with no_object_id_recompute():
                answer.messages_list.append(message_to_proto(remove_content_from_message(reply)))
                answer.message_object_trees.append(get_object_tree(reply))
                if node not in self.missing:
                    self._objects |= {key: part.deflate() for key, part in get_all_nested_objects(reply).items()}
        return answer

    def PullObject(self, asked: Any) -> PullObjectResponse:
        content = self._objects.get(asked.object_id, b"")
        if not content:
            self._looked.set()
        return PullObjectResponse(object_found=True, object_available=bool(content), object_content=content)

    def ConfirmMessageReceived(self, asked: Any) -> None: ...


def grid_at(superlink: SuperLink) -> PatientGrid:
    """The grid in the form in which a run has it."""
    grid = HttpGrid("127.0.0.1:9", insecure=True, token="none")
    grid.set_run(Run.create_empty(0))
    superlink._retry_invoker = grid._retry_invoker  # type: ignore[attr-defined]
    grid._client = superlink  # type: ignore[assignment]
    return guarded(grid)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patient_grid, "RETRY_WAIT", 0.01)


def requests(*nodes: int) -> list[Message]:
    return [request("train", node, ConfigRecord({}), None, 60.0) for node in nodes]


def test_replies_that_are_there_are_taken() -> None:
    replies = list(exchange(grid_at(SuperLink()), requests(1, 2, 3), 30.0))
    assert sorted(reply.content["node"]["id"] for reply in replies) == [1, 2, 3]  # type: ignore[index]


@pytest.mark.slow
def test_objects_that_never_come_end_with_the_exchange_and_cost_their_senders_alone() -> None:
    superlink = SuperLink(missing={1, 2})
    superlink.late = {3}
    began = time.monotonic()
    replies = list(exchange(grid_at(superlink), requests(1, 2, 3, 4), 1.5))  # Flower's own limit is two hours
    assert time.monotonic() - began >= 1.5
    assert sorted(r.content["node"]["id"] for r in replies if not r.has_error()) == [3, 4]  # type: ignore[index]
    assert [error_reason(r.error) for r in replies if r.has_error()] == ["no reply in time"] * 2


class One:
    """What an exchange is told that needs one reply."""

    def __init__(self) -> None:
        self.replies: list[Message] = []

    def enough(self) -> bool:
        return len(self.replies) == 1

    def open_requests(self) -> list[str]:
        return []

    def take(self, reply: Message) -> bool:
        self.replies.append(reply)
        return False


def test_a_reply_that_is_still_on_its_way_holds_no_exchange_that_has_enough() -> None:
    one = One()
    replies = list(exchange(grid_at(SuperLink(missing={1})), requests(1, 2), 20.0, late=one))
    assert [None if r.has_error() else r.content["node"]["id"] for r in replies] == [2]  # type: ignore[index]


def test_a_reply_that_was_on_its_way_is_taken_by_a_later_look() -> None:
    class Slow(SuperLink):
        held = 3

        def PullObject(self, asked: Any) -> PullObjectResponse:
            if self.held:
                self.held -= 1
                return PullObjectResponse(object_found=True, object_available=False)
            return super().PullObject(asked)

    replies = list(exchange(grid_at(Slow()), requests(1), 20.0))
    assert [reply.content["node"]["id"] for reply in replies] == [1]  # type: ignore[index]


def test_a_reply_nobody_set_a_time_for_is_given_up_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.flower.deadline.SMALL_REPLY", 0.2)
    grid = grid_at(SuperLink(missing={1}))
    ids = list(grid.push_messages(requests(1)))
    (reply,) = grid.pull_messages(ids)  # Flower's own limit is two hours
    assert reply.has_error()


def test_a_push_that_a_restart_cut_off_is_made_again() -> None:
    superlink = SuperLink(refuse=1)
    grid, messages = grid_at(superlink), requests(1, 2)
    ids = list(grid.push_messages(messages))
    assert ids == [message.metadata.message_id for message in messages]
    assert superlink.sessions == 2
    assert set(ids) <= set(superlink.stored)
    assert list(exchange(grid, [], 1.0)) == []
    assert len(list(grid.pull_messages(ids))) == 2


class Cut(SuperLink):
    """A SuperLink whose connection is lost once, in the middle of a reply."""

    def __init__(self, at: str) -> None:
        super().__init__()
        self.at, self.cut, self.confirmed = at, False, 0

    def PullObject(self, asked: Any) -> PullObjectResponse:
        self._lose("PullObject")
        return super().PullObject(asked)

    def ConfirmMessageReceived(self, asked: Any) -> None:
        self._lose("ConfirmMessageReceived")
        self.confirmed += 1
        self._objects.clear()  # nobody can fetch them again

    def _lose(self, call: str) -> None:
        if call == self.at and not self.cut:
            self.cut = True
            raise httpx.ReadError("reset")


@pytest.mark.parametrize("at", ["PullObject", "ConfirmMessageReceived"])
def test_a_connection_lost_within_a_reply_loses_no_reply(at: str) -> None:
    superlink = Cut(at)
    replies = list(exchange(grid_at(superlink), requests(1), 5.0))
    assert [reply.content["node"]["id"] for reply in replies] == [1]  # type: ignore[index]
    assert (superlink.cut, superlink.confirmed) == (True, 1)


def test_a_reply_is_fetched_when_the_one_before_is_done_with() -> None:
    superlink = Cut("")
    replies = exchange(grid_at(superlink), requests(1), 5.0)
    assert superlink.confirmed == 0
    next(replies)
    assert superlink.confirmed == 1
