"""Replies that Flower cannot read: they become error replies of their senders."""

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_id
from flwr.superlink.grid import http_grid

from client.messages import reply_to
from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError
from pfedgp_core.wire.names import CONFIG, TRAIN
from pfedgp_core.wire.replies import TrainReply
from server.flower.grid import PatientGrid
from server.flower.messages import pack_vector, request, request_config
from server.flower.reply_checks import read_train_reply
from server.flower.unreadable import UNREADABLE, spare_unreadable_replies

VECTOR = np.arange(6, dtype=np.float32)


@pytest.fixture(autouse=True)
def guard(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_grid, "inflate_object_from_contents", http_grid.inflate_object_from_contents)
    assert spare_unreadable_replies()
    assert spare_unreadable_replies()


def reply() -> Message:
    question = request(TRAIN, 9, request_config(Settings(), 3), pack_vector(VECTOR), 60.0)
    question.metadata.__dict__["_message_id"] = "question-1"
    return reply_to(question, TrainReply("ward-3", "ok", 10, 0.5, 2), VECTOR)


def contents_of(message: Message) -> tuple[str, dict[str, bytes]]:
    """The id of a message, and what travels of it."""
    return message.object_id, {key: part.deflate() for key, part in get_all_nested_objects(message).items()}


def arrived(top: str, contents: dict[str, bytes]) -> Message:
    """What Flower's grid makes of it."""
    return http_grid.inflate_object_from_contents(top, contents)


def test_a_good_reply_arrives_as_it_is() -> None:
    message = arrived(*contents_of(reply()))
    accepted = read_train_reply(message, "ward-3", 6)
    assert accepted.vector is not None
    assert accepted.vector.tobytes() == VECTOR.tobytes()


@pytest.mark.parametrize("body", [b"\xff\xff\xff", b"", b"\x0a\x03abc"])
def test_a_record_that_is_none_fails_its_sender_only(body: bytes) -> None:
    top, contents = contents_of(reply())
    (part,) = (key for key, content in contents.items() if content.startswith(b"ConfigRecord"))
    contents[part] = b"ConfigRecord  %d\x00" % len(body) + body
    message = arrived(top, contents)
    assert message.metadata.reply_to_message_id == "question-1"
    with pytest.raises(DataError, match=r"cannot be read|missing|malformed"):
        read_train_reply(message, "ward-3", 6)


def test_a_missing_part_fails_its_sender_only() -> None:
    top, contents = contents_of(reply())
    del contents[next(key for key, content in contents.items() if content.startswith(b"ConfigRecord"))]
    message = arrived(top, contents)
    assert (message.error.code, message.metadata.reply_to_message_id) == (UNREADABLE, "question-1")
    with pytest.raises(DataError, match="its reply cannot be read"):
        read_train_reply(message, "ward-3", 6)


@pytest.mark.parametrize("content", [b"", b"nonsense", b"Message  3\x00\xff\xff\xff"])
def test_a_message_that_is_none_answers_no_request(content: bytes) -> None:
    message = arrived("x", {"x": content})
    assert message.has_error()
    assert message.metadata.reply_to_message_id == ""


def test_a_record_in_place_of_a_message_answers_no_request() -> None:
    record = RecordDict({CONFIG: ConfigRecord({"a": 1})})
    contents = {key: part.deflate() for key, part in get_all_nested_objects(record).items()}
    message = arrived(get_object_id(record.deflate()), contents)
    assert message.has_error()
    assert message.metadata.reply_to_message_id == ""


def test_replies_to_nobody_and_second_ones_are_left_out() -> None:
    class Grid:
        def pull_messages(self, ids: list[str]) -> list[Message]:
            return [arrived("x", {"x": b""}), reply(), reply()]

    grid = PatientGrid(Grid())
    (message,) = grid.pull_messages(["question-2", "question-1"])
    assert message.metadata.reply_to_message_id == "question-1"
    assert grid.pull_messages(["question-2"]) == []
