"""Replies that Flower cannot read: they become error replies of their senders."""

from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.proto.message_pb2 import Message as MessageProto
from flwr.proto.message_pb2 import Metadata, ObjectTree, PullObjectResponse
from flwr.proto.runtime_pb2 import PullAppMessagesResponse
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_id
from flwr.supercore.run import Run
from flwr.superlink.grid.http_grid import HttpGrid

from client.messages import reply_to
from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError
from pfedgp_core.wire.names import CONFIG, TRAIN
from pfedgp_core.wire.replies import TrainReply
from server.flower.deployed_grid import DeployedGrid
from server.flower.grid import PatientGrid
from server.flower.messages import Packed, request, request_config
from server.flower.reply_checks import UNREADABLE, read_train_reply

VECTOR = np.arange(6, dtype=np.float32)


def reply() -> Message:
    question = request(TRAIN, 9, request_config(Settings(), 3), Packed(VECTOR), 60.0)
    question.metadata.__dict__["_message_id"] = "question-1"
    return reply_to(question, TrainReply("ward-3", "ok", 10, 0.5, 2), VECTOR)


def contents_of(message: Message) -> tuple[str, dict[str, bytes]]:
    """The id of a message, and what travels of it."""
    return message.object_id, {key: part.deflate() for key, part in get_all_nested_objects(message).items()}


class SuperLink:
    """What the grid's HTTP client stands for: it has one reply to ``question-1``, of these objects."""

    def __init__(self, top: str, contents: dict[str, bytes]) -> None:
        self._top, self._contents = top, contents

    def PullMessages(self, asked: Any) -> PullAppMessagesResponse:
        head = Metadata(message_id=self._top, reply_to_message_id="question-1", message_type="train")
        tree = ObjectTree(object_id=self._top, children=[ObjectTree(object_id=part) for part in self._others()])
        return PullAppMessagesResponse(messages_list=[MessageProto(metadata=head)], message_object_trees=[tree])

    def PullObject(self, asked: Any) -> PullObjectResponse:
        content = self._contents[asked.object_id]
        return PullObjectResponse(object_found=True, object_available=True, object_content=content)

    def ConfirmMessageReceived(self, asked: Any) -> None: ...

    def _others(self) -> list[str]:
        return [part for part in self._contents if part != self._top]


def arrived(top: str, contents: dict[str, bytes]) -> Message:
    """What the grid of a deployment makes of it."""
    grid = HttpGrid("127.0.0.1:9", insecure=True, token="none")
    grid.set_run(Run.create_empty(0))
    grid._client = SuperLink(top, contents)  # type: ignore[assignment]
    (message,) = DeployedGrid(grid).pull_messages(["question-1"])
    return message


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
def test_a_message_that_is_none_fails_its_sender_only(content: bytes) -> None:
    message = arrived("x", {"x": content})
    assert (message.error.code, message.metadata.reply_to_message_id) == (UNREADABLE, "question-1")


def test_a_record_in_place_of_a_message_fails_its_sender_only() -> None:
    record = RecordDict({CONFIG: ConfigRecord({"a": 1})})
    contents = {key: part.deflate() for key, part in get_all_nested_objects(record).items()}
    message = arrived(get_object_id(record.deflate()), contents)
    assert (message.error.code, message.metadata.reply_to_message_id) == (UNREADABLE, "question-1")


def test_replies_to_nobody_and_second_ones_are_left_out() -> None:
    class Grid:
        def pull_messages(self, ids: list[str]) -> list[Message]:
            nobodys = reply()
            nobodys.metadata.__dict__["_reply_to_message_id"] = ""
            return [nobodys, reply(), reply()]

    grid = PatientGrid(Grid())  # type: ignore[arg-type]
    (message,) = grid.pull_messages(["question-2", "question-1"])
    assert message.metadata.reply_to_message_id == "question-1"
    assert list(grid.pull_messages(["question-2"])) == []
