"""A ClientApp that does something wrong in every round but the first and the last; for tests alone."""

import os
import signal
from typing import Any

import numpy as np
from flwr.app import Context, Message

from client.client_app import app as honest
from tests.wire_parts import metrics_in, put_vector, vector_of

MISDEEDS = {
    2: "nan",
    3: "shape",
    4: "type",
    5: "norm",
    6: "no samples",
    7: "exception",
    8: "another's name",
    9: "death",
}


class Misbehaving:
    """Passes requests on to the real app and spoils its replies."""

    def __call__(self, message: Message, context: Context) -> Message:
        misdeed = MISDEEDS.get(round_of(message), "") if message.metadata.message_type == "train" else ""
        if misdeed == "exception":
            raise ValueError("patient 4711 in /data/secret")
        if misdeed == "death":
            os.kill(os.getpid(), signal.SIGKILL)
        return spoiled(honest(message, context), misdeed)


def round_of(message: Message) -> int:
    """The round of a request."""
    return int(message.content["config"]["round"])


def spoiled(reply: Message, misdeed: str) -> Message:
    """The reply with what is wrong about it."""
    if misdeed in VECTORS:
        put_vector(reply, VECTORS[misdeed](vector_of(reply)))
    elif misdeed == "no samples":
        with metrics_in(reply) as metrics:
            metrics["n_train"] = 0
    elif misdeed == "another's name":
        reply.content["config"]["client"] = "ward-a"
    return reply


VECTORS: dict[str, Any] = {
    "nan": lambda v: np.where(np.arange(v.size) == 7, np.float32("nan"), v).astype(np.float32),
    "shape": lambda v: v[:-1],
    "type": lambda v: v.astype(np.float64),
    "norm": lambda v: v + np.float32(1e6),
}
app = Misbehaving()
