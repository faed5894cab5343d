"""Reading and forging what clients send, past the apps' own checks."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from flwr.app import Message

from pfedgp_core.wire.layout import SHARED_TYPE, unpack, unpack_vector
from pfedgp_core.wire.names import CONFIG, HELLO, METRICS, SHARED
from tests.fakegrid import Tamper


def metrics_of(message: Message) -> dict[str, Any]:
    """The metrics in a message."""
    return unpack(message.content[CONFIG])[1]


def vector_of(message: Message) -> np.ndarray:
    """The shared vector in a message."""
    vector = unpack_vector(message.content[CONFIG])
    assert vector is not None
    return vector


@contextmanager
def metrics_in(message: Message) -> Iterator[dict[str, Any]]:
    """The metrics in a message, whose changes go into the message."""
    metrics = metrics_of(message)
    yield metrics
    message.content[CONFIG][METRICS] = json.dumps(metrics)


def put_vector(message: Message, vector: np.ndarray) -> None:
    """Put a vector of any type into a message."""
    message.content[CONFIG][SHARED] = vector.tobytes()
    message.content[CONFIG][SHARED_TYPE] = vector.dtype.str


def greets_with(client: int, **changes: Any) -> Tamper:
    """A tamper by which one client says something else of itself than it is."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == HELLO and index == client:
            config = reply.content[CONFIG]
            config["hello"] = json.dumps(json.loads(str(config["hello"])) | changes)
        return reply

    return tamper
