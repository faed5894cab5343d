"""Objects that an announcement carries: what fits, and that they leave it as they came."""

from flwr.proto.message_pb2 import Message, ObjectTree
from flwr.proto.recorddict_pb2 import RecordDict

from pfedgp_core.wire import carried
from pfedgp_core.wire.carried import LARGEST, MOST, attach, detach, fitting, ids_of


def test_objects_leave_a_message_as_they_came() -> None:
    message = Message(content=RecordDict())
    empty = message.SerializeToString()
    attach(message, {"a": b"one", "b": b"\x00"})
    assert detach(Message.FromString(message.SerializeToString())) == {"a": b"one", "b": b"\x00"}
    assert detach(message) == {"a": b"one", "b": b"\x00"}
    assert (message.SerializeToString(), detach(message)) == (empty, {})


def test_other_content_stays() -> None:
    message = Message(content=RecordDict())
    message.content.items.add(key="mine").config_record.items.add(key="a").value.bytes = b"kept"
    attach(message, {"a": b"one"})
    assert detach(message) == {"a": b"one"}
    assert [item.key for item in message.content.items] == ["mine"]


def test_an_error_and_a_message_without_objects_carry_nothing() -> None:
    error = Message()
    error.error.code = 2
    attach(error, {"a": b"one"})
    assert not error.HasField("content")
    bare = Message()
    attach(bare, {})
    assert (bare.HasField("content"), detach(bare)) == (False, {})


def test_what_is_missing_or_large_does_not_fit() -> None:
    contents = {"gone": b"", "large": bytes(LARGEST + 1), "small": b"a", "largest": bytes(LARGEST)}
    assert set(fitting(contents)) == {"small", "largest"}


def test_objects_fit_together() -> None:
    one = MOST // 4 + 1
    contents = {str(i): bytes(one) for i in range(5)} | {"small": b"a"}
    assert list(fitting(contents)) == ["0", "1", "2", "small"]
    assert list(fitting(contents, room=1)) == ["small"]


def test_a_piece_of_a_large_array_is_not_carried() -> None:
    from flwr.common.constant import FLWR_PRIVATE_MAX_ARRAY_CHUNK_SIZE

    assert carried.LARGEST < FLWR_PRIVATE_MAX_ARRAY_CHUNK_SIZE


def test_ids_go_from_the_message_down() -> None:
    tree = ObjectTree(object_id="m", children=[ObjectTree(object_id="r", children=[ObjectTree(object_id="c")])])
    assert list(ids_of(tree)) == ["m", "r", "c"]
