"""Checks of a reply before the server uses it; every refusal has a reason that fits in a log line."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from flwr.app import ConfigRecord, Error, Message

from pfedgp_core.checks import printable
from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.regression import RegressionSums
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.wire.encodings import decode_update
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.layout import unpack, unpack_update, unpack_vector
from pfedgp_core.wire.names import ARRAYS, CONFIG, OK, SHARED
from pfedgp_core.wire.npy import vector_of
from pfedgp_core.wire.publication import OnboardReply
from pfedgp_core.wire.replies import EvaluateReply, TrainReply, riding_evaluation

__all__ = [
    "UNREADABLE",
    "Accepted",
    "Checked",
    "Update",
    "error_reason",
    "read_evaluate_reply",
    "read_hello",
    "read_onboard_reply",
    "read_riding_evaluation",
    "read_train_reply",
]

UNREADABLE = 101  # the code of an error reply in the place of one that cannot be read; Flower's own codes are small

# Flower's error codes. The sender's own text is shown only where it is a type name, because it may quote a site's data.
_ERRORS = {
    0: "the client's process ended",
    1: "the client app does not load",
    3: "no reply in time",
    4: "the reply was lost",
    5: "the client disconnected",
    6: "a precondition of a Flower mod failed",
    7: "the client refuses this app",
    8: "the client process died",
    UNREADABLE: "its reply cannot be read",
}

CLASSES_LIMIT = 10_000  # of one client
REASON_LIMIT = 200  # characters

Reply = TypeVar("Reply", bound=TrainReply | EvaluateReply)


@dataclass
class Accepted(Generic[Reply]):
    """A usable reply; `vector` is None where there is no update to average, `nbytes` is what it had on its way."""

    reply: Reply
    vector: np.ndarray | None = None
    nbytes: int = 0


class Update(NamedTuple):
    """What a reply to a train request is to hold in place of a vector: a change of what was sent, so encoded."""

    encoding: str
    sent: np.ndarray


@dataclass
class Checked(Generic[Reply]):
    """Replies of one exchange by client name, in the order of the names: usable ones, and why others are not."""

    accepted: dict[str, Accepted[Reply]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)  # of the failed, those that did not answer at all


def error_reason(error: Error) -> str:
    """Say what an error reply means."""
    if error.code in _ERRORS:
        return _ERRORS[error.code]
    name = error.reason or ""
    return name if name.isidentifier() and len(name) <= 60 else f"error {error.code} on the client"


def read_hello(message: Message) -> Hello:
    """Read a client's presentation; DataError says why it cannot be used."""
    with _short_reason():
        hello = Hello.from_wire(*_records(message))
        # Here alone, because the clients of a checkpoint carry the classes of all of them.
        if len(hello.class_names) > CLASSES_LIMIT:
            raise DataError(f"hello with {len(hello.class_names)} classes, more than {CLASSES_LIMIT}")
        return hello


def read_train_reply(
    message: Message, name: str, size: int, samples: int | None = None, expected: Update | None = None
) -> Accepted[TrainReply]:
    """Read the reply of client `name`, whose greeting said that it has so many training samples, to a train request.

    Where `expected` is given, the reply holds no vector but an encoded update of what was sent.

    Raises
    ------
    DataError
        An error reply, a missing or malformed field, another client's name, a sample count that is not positive or
        above that of the greeting, a vector that is not `size` finite float32 values, or an update that is encoded
        otherwise than asked for or whose bytes are not those of so many values. The text is the reason alone.
    """
    with _short_reason():
        reply = TrainReply.from_wire(*_records(message))
        _check_name(reply.name, name)
        if samples is not None and reply.n_train > samples:
            raise DataError(f"sample count {reply.n_train} where its greeting said {samples}")
        if reply.status != OK:
            return Accepted(reply)
        if expected is not None:
            return Accepted(reply, *_read_update(message, size, expected))
        vector = _read_vector(message, size)
        return Accepted(reply, vector, vector.nbytes)


def read_evaluate_reply(
    message: Message, hello: Hello, split: str, sums_type: type[MetricSums] | type[RegressionSums] = MetricSums
) -> Accepted[EvaluateReply]:
    """Read the reply of the client that presented itself with `hello`; raises as ``read_train_reply``."""
    with _short_reason():
        return _checked_evaluation(EvaluateReply.from_wire(*_records(message), sums_type), hello, split)


def read_riding_evaluation(
    message: Message, hello: Hello, split: str, sums_type: type[MetricSums] | type[RegressionSums] = MetricSums
) -> Accepted[EvaluateReply]:
    """Read the evaluation in a reply to a train request that named a split; raises as ``read_train_reply``."""
    with _short_reason():
        return _checked_evaluation(riding_evaluation(*_records(message), sums_type), hello, split)


@contextmanager
def _short_reason() -> Iterator[None]:
    """A reason may quote what the client sent; it becomes one line that any log can show."""
    try:
        yield
    except DataError as error:
        raise DataError(printable(str(error), REASON_LIMIT)) from None


def _checked_evaluation(reply: EvaluateReply, hello: Hello, split: str) -> Accepted[EvaluateReply]:
    samples = hello.count(split)
    _check_name(reply.name, hello.name)
    if reply.split != split:
        raise DataError(f"sums of {reply.split[:20]!r} data where {split!r} was asked for")
    if reply.sums.n > samples:
        raise DataError(f"sums of {reply.sums.n} samples from a client that has {samples}")
    calibration = reply.calibration
    if calibration is not None and not calibration.fits(reply.sums.n, hello.n_validation, len(hello.class_names)):
        raise DataError("calibration sums that do not fit the client's samples and classes")
    if reply.scales is not None and not reply.scales.fits(hello.n_validation, hello.n_train):
        raise DataError("likelihoods at output scales that do not fit the client's samples")
    evidence = reply.evidence
    if evidence is not None and not evidence.fits(reply.sums.n, hello.n_validation, hello.n_train):
        raise DataError("sums for the temperature that do not fit the client's samples")
    return Accepted(reply)


def read_onboard_reply(message: Message, model: TrainedModel) -> OnboardReply:
    """Read a site's answer to the publication of `model`; DataError says why it cannot be used."""
    with _short_reason():
        return OnboardReply.from_wire(*_records(message), model)


def _records(message: Message) -> tuple[dict[str, Any], dict[str, Any]]:
    return unpack(_fields(message))


def _fields(message: Message) -> ConfigRecord:
    if message.has_error():
        raise DataError(error_reason(message.error))
    config = message.content.get(CONFIG)  # Flower's `config_records` copies and checks all of them at each look
    if not isinstance(config, ConfigRecord):
        raise DataError("missing fields")
    if set(message.content) - {CONFIG, ARRAYS}:
        raise DataError("an unknown part beside the fields")
    return config


def _check_name(claimed: str, known: str) -> None:
    if claimed != known:
        raise DataError("the reply carries another client's name")


def _read_vector(message: Message, size: int) -> np.ndarray:
    vector = _array(message) if ARRAYS in message.content else unpack_vector(_fields(message))
    if vector is None:
        raise DataError("missing the shared vector")
    if vector.dtype != np.float32:
        raise DataError(f"the shared vector is {vector.dtype}, not float32")
    if vector.shape != (size,):
        raise DataError(f"the shared vector has shape {list(vector.shape)}, not [{size}]")
    if not np.isfinite(vector).all():
        raise DataError("the shared vector holds NaN or infinity")
    return vector


def _read_update(message: Message, size: int, expected: Update) -> tuple[np.ndarray, int]:
    """The vector that an encoded update makes of what was sent, and how many bytes the update had."""
    if ARRAYS in message.content:
        values = _array(message)
        if values.dtype != np.uint8 or values.ndim != 1:
            raise DataError(f"the update is {values.dtype}, not the bytes of {expected.encoding}")
        data = values.tobytes()
    else:
        update = unpack_update(_fields(message))
        if update is None:
            raise DataError("missing the update")
        if update.encoding != expected.encoding:
            raise DataError(f"the update is {update.encoding[:20]!r}, not {expected.encoding}")
        data = update.data
    vector = decode_update(data, expected.encoding, size)
    vector += expected.sent
    if not np.isfinite(vector).all():
        raise DataError("the update holds NaN or infinity")
    return vector, len(data)


def _array(message: Message) -> np.ndarray:
    """The vector that is a part of its own, as one is that is too long for the config."""
    arrays = message.content.array_records.get(ARRAYS)
    if arrays is None or set(arrays) != {SHARED}:
        raise DataError("missing the shared vector")
    try:
        return vector_of(arrays[SHARED])
    except DataError as error:
        raise DataError(f"the shared vector cannot be read ({error})") from None
