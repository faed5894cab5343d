"""Replies in both layouts of the vector, and what becomes of malformed ones."""

import dataclasses

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict

from client.messages import read_request, reply_to
from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.wire import layout as wire
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.names import ARRAYS, CONFIG, SHARED, TRAIN
from pfedgp_core.wire.replies import EvaluateReply, TrainReply
from server.flower.messages import Packed, request, request_config
from server.flower.reply_checks import CLASSES_LIMIT, read_evaluate_reply, read_hello, read_train_reply
from tests.wire_parts import put_vector

VECTOR = np.arange(6, dtype=np.float32)
REPLY = TrainReply("ward-3", "ok", 10, 0.5, 2)


@pytest.fixture(params=["one part", "two parts"])
def parts(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The parts of a message with a vector, for a short and for a long one."""
    if request.param == "one part":
        return {CONFIG}
    monkeypatch.setattr(wire, "PACKED_LIMIT", VECTOR.nbytes - 1)
    return {CONFIG, ARRAYS}


def question() -> Message:
    return request(TRAIN, 9, request_config(Settings(), 3), Packed(VECTOR), 60.0)


def with_arrays(arrays: dict[str, Array]) -> Message:
    reply = reply_to(question(), REPLY)
    reply.content[ARRAYS] = ArrayRecord(arrays)
    return reply


def test_requests_and_replies_carry_the_vector(parts: set[str]) -> None:
    message = question()
    assert set(message.content) == parts
    got = read_request(message)
    assert got.round == 3
    assert got.shared_vector().tobytes() == VECTOR.tobytes()
    reply = reply_to(message, REPLY, 2 * VECTOR)
    assert set(reply.content) == parts
    accepted = read_train_reply(reply, "ward-3", 6)
    assert accepted.reply == REPLY
    assert accepted.vector is not None
    assert accepted.vector.dtype == np.float32
    assert accepted.vector.tobytes() == (2 * VECTOR).tobytes()


def test_a_short_message_is_three_objects_of_flower() -> None:
    from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects

    for message in (question(), reply_to(question(), REPLY, VECTOR)):
        kinds = [type(part).__name__ for part in get_all_nested_objects(message).values()]
        assert kinds == ["ConfigRecord", "RecordDict", "Message"]


def test_a_vector_of_another_length_is_refused(parts: set[str]) -> None:
    reply = reply_to(question(), REPLY, VECTOR)
    with pytest.raises(DataError, match=r"has shape \[6\], not \[7\]"):
        read_train_reply(reply, "ward-3", 7)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_vectors_that_are_not_finite_are_refused(parts: set[str], value: float) -> None:
    vector = VECTOR.copy()
    vector[5] = value
    with pytest.raises(DataError, match="NaN or infinity"):
        read_train_reply(reply_to(question(), REPLY, vector), "ward-3", 6)


@pytest.mark.parametrize("vector", [np.zeros(6), np.zeros(6, np.int32), np.zeros(6, ">f4"), np.zeros(3)])
def test_other_types_are_refused_even_where_the_bytes_fit(vector: np.ndarray) -> None:
    reply = reply_to(question(), REPLY)
    put_vector(reply, vector)
    with pytest.raises(DataError, match="not float32"):
        read_train_reply(reply, "ward-3", 6)


@pytest.mark.parametrize(
    ("arrays", "reason"),
    [
        ({}, "missing the shared vector"),
        ({SHARED: Array(VECTOR), "more": Array(VECTOR)}, "missing the shared vector"),
        ({SHARED: Array(VECTOR.astype(np.float64))}, "not float32"),
        ({SHARED: Array(VECTOR.reshape(2, 3))}, "has shape"),
        ({SHARED: Array("float32", (6,), "numpy.ndarray", b"junk")}, "cannot be read"),
        ({SHARED: Array("float32", (6,), "torch.tensor", b"junk")}, "cannot be read"),
    ],
)
def test_malformed_arrays_are_refused(arrays: dict[str, Array], reason: str) -> None:
    with pytest.raises(DataError, match=reason):
        read_train_reply(with_arrays(arrays), "ward-3", 6)


@pytest.mark.parametrize("content", [RecordDict(), RecordDict({CONFIG: ArrayRecord({})})])
def test_replies_without_fields_are_refused(content: RecordDict) -> None:
    with pytest.raises(DataError, match="missing fields"):
        read_train_reply(Message(content, reply_to=question()), "ward-3", 6)


def test_unknown_parts_are_refused() -> None:
    reply = reply_to(question(), REPLY, VECTOR)
    reply.content["more"] = ConfigRecord({})
    with pytest.raises(DataError, match="unknown part"):
        read_train_reply(reply, "ward-3", 6)


def test_the_server_changes_no_request_of_another_node() -> None:
    config, packed = request_config(Settings(), 1), Packed(VECTOR)
    first, second = (request(TRAIN, node, config, packed, 60.0) for node in (1, 2))
    assert SHARED not in config
    assert first.content[CONFIG] == second.content[CONFIG]


def test_a_client_cannot_flood_the_class_list() -> None:
    hello = Hello("w", (0,), tuple(f"c{i}" for i in range(CLASSES_LIMIT + 1)), 1, 1, 1, (4,), "", {}, (0.0,), (1.0,))
    with pytest.raises(DataError, match="10001 classes"):
        read_hello(reply_to(question(), hello))
    fitting = dataclasses.replace(hello, class_names=hello.class_names[1:])
    assert read_hello(reply_to(question(), fitting)) == fitting


def test_a_reason_is_short_and_printable_whatever_a_client_sends() -> None:
    hello = Hello("ward-3", (0,), ("a",), 1, 1, 1, (4,), "", {})
    reply = reply_to(question(), EvaluateReply("ward-3", "\x1b[2J\n" * 10_000, MetricSums.zero()))
    with pytest.raises(DataError, match="was asked for") as caught:
        read_evaluate_reply(reply, hello, "test")
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 200
    counters = {"\x1b" * 10_000: 1}
    with pytest.raises(DataError) as caught:
        read_train_reply(reply_to(question(), dataclasses.replace(REPLY, counters=counters), VECTOR), "ward-3", 6)
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) <= 200
