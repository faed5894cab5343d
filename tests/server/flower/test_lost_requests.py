"""Requests that a killed SuperLink has lost, with their replies: they are sent again in the same exchange."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from flwr.app import Message
from flwr.app.message import remove_content_from_message
from flwr.common.serde import message_to_proto
from flwr.proto.runtime_pb2 import PullAppMessagesResponse
from flwr.server.superlink.linkstate.utils import create_message_error_unavailable_ins_message
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree

from client.client_app import app as client_app
from pfedgp_core.wire.names import TRAIN
from server.flower import grid as patient_grid
from server.flower.messages import TIMES, exchange
from server.flower.reply_checks import error_reason
from tests.fakegrid import FakeGrid
from tests.federation_run import SMALL, federate, start
from tests.server.flower.test_deployed_grid import SuperLink, grid_at, requests
from tests.uninterrupted import without_pictures


class Killed(SuperLink):
    """A SuperLink that is killed so many times between taking the replies out of its state and handing them over."""

    def __init__(self, kills: int) -> None:
        super().__init__()
        self.kills, self.asked = kills, 0

    def PullMessages(self, asked: Any) -> PullAppMessagesResponse:
        self.asked += 1
        unknown = set(asked.message_ids) - set(self._replies)
        answer = super().PullMessages(asked)
        if answer.messages_list and self.kills:
            self.kills -= 1
            raise httpx.ReadError("reset")
        for message_id in unknown:
            error = create_message_error_unavailable_ins_message(message_id, 0)
            answer.messages_list.append(message_to_proto(remove_content_from_message(error)))
            answer.message_object_trees.append(get_object_tree(error))
            self._objects |= {key: part.deflate() for key, part in get_all_nested_objects(error).items()}
        return answer


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patient_grid, "RETRY_WAIT", 0.01)
    without_pictures(monkeypatch)


def nodes(replies: Iterator[Message]) -> list[Any]:
    """The nodes that answered, or the reasons of their errors."""
    found = [error_reason(r.error) if r.has_error() else r.content.config_records["node"]["id"] for r in replies]
    return sorted(found, key=str)


def test_replies_that_were_lost_are_asked_for_by_their_requests_again() -> None:
    superlink = Killed(1)
    assert nodes(exchange(grid_at(superlink), requests(1, 2, 3), 30.0)) == [1, 2, 3]
    assert superlink.sessions == 2


def test_a_request_that_is_lost_each_time_fails_before_the_exchange_ends() -> None:
    superlink = Killed(TIMES + 1)
    assert nodes(exchange(grid_at(superlink), requests(1), 30.0)) == ["no reply in time"]
    assert superlink.sessions == TIMES + 1


class Forgetful(FakeGrid):
    """A grid that loses each client's first reply to a train request, and says that it does not know the request."""

    def __init__(self, clients: int) -> None:
        super().__init__(client_app, clients, self._lose)
        self.lost: set[int] = set()

    def _lose(self, request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type != TRAIN or index in self.lost:
            return reply
        self.lost.add(index)
        return create_message_error_unavailable_ins_message(request.metadata.message_id, 0)


@pytest.mark.slow
def test_a_run_that_lost_replies_ends_with_the_same_bits(tmp_path: Path) -> None:
    lossy = start(Forgetful(SMALL.clients), SMALL, tmp_path / "lossy")
    whole = federate(SMALL, tmp_path / "whole")
    assert [record["failed"] for record in lossy.records] == [{}] * SMALL.rounds
    assert lossy.model("final").tobytes() == whole.model("final").tobytes()
