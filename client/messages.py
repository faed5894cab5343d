"""Client side of the wire: reading requests, packing replies, and turning exceptions into error replies."""

import functools
import logging
import os
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Error, Message, RecordDict

from pfedgp_core.checks import printable
from pfedgp_core.column_rules import FEDERATED
from pfedgp_core.config import Settings
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import DataError, PFedGPError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.files.regular import MalformedError
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.wire.encodings import Encoded
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.layout import fits, pack, unpack_vector
from pfedgp_core.wire.names import (
    ACCEPTED,
    ARRAYS,
    BEST,
    CLASSES,
    CONFIG,
    INITIAL,
    LEFT_OUT,
    MODEL,
    MODEL_HASH,
    ROUND,
    RULES,
    RUN,
    SCALE,
    SETTINGS,
    SHARED,
    SPEC,
    SPLIT,
)
from pfedgp_core.wire.npy import array_fields, vector_of
from pfedgp_core.wire.publication import OnboardReply, published_model
from pfedgp_core.wire.replies import EvaluateReply, TrainReply

__all__ = ["Request", "answers_errors", "note_error", "read_published", "read_request", "reply_to"]

CLIENT_LOG = "PFEDGP_CLIENT_LOG"  # a file; unset: standard error
SETTINGS_LIMIT = 1_000_000  # characters of a run's settings
SENTENCE_LIMIT = 2000  # characters of a line in the log
TRACEBACK_LINES = 200
CLIENT_APP_RAISED = 2  # Flower's error code for an exception in a client

logger = logging.getLogger("pfedgp.client")
Handler = Callable[[Message, Context], Message]


@dataclass(frozen=True)
class Request:
    """What the server asks for: the run's settings, and where the kind of message has them the other fields."""

    settings: Settings
    round: int = 0
    split: str = ""
    vector: np.ndarray | None = None
    spec: DataSpec | None = None
    run: str = ""
    accepted: int = 0
    best: int = 0
    classes: tuple[int, ...] = ()  # ids of those whose values alone are in the vector; none: all of it is there
    scale: float = 0.0  # output scale to predict at; 0: that of the settings
    left_out: bool = False  # whether the sums of training data are wanted, each sample predicted from all others
    initial: bool = False  # whether the vector is that before round 1, of which the sums alone are wanted

    def shared_vector(self) -> np.ndarray:
        """The shared vector; DataError where the request has none."""
        if self.vector is None:
            raise DataError("The server's request carries no shared vector: run the same pfedgp version on both sides.")
        return self.vector


# The server's remedies go by the kinds that these are of.
_FINER = ("DamagedStateError", "MissingFileError", "UnreadableFileError")


def read_request(message: Message) -> Request:
    """Unpack a request of the server; rules on which the sites have agreed are part of its settings.

    Raises
    ------
    ConfigError, DataError
        Its settings are not known here or too long, or a field is none that a server sends.
    """
    config = message.content.config_records[CONFIG]
    spec = DataSpec.from_json(str(config[SPEC])) if SPEC in config else None
    settings, agreed = _settings(str(config[SETTINGS])), spec.rules if spec else str(config.get(RULES, ""))
    if agreed and settings.column_rules_from != FEDERATED:
        raise DataError("The server sends rules of columns, and this run's sites do not agree on any.")
    return Request(
        settings=settings.with_rules(agreed),
        round=_count(config, ROUND),
        split=str(config.get(SPLIT, "")),
        vector=_vector(message),
        spec=spec,
        run=str(config.get(RUN, "")),
        accepted=_count(config, ACCEPTED),
        best=_count(config, BEST),
        classes=_classes(config),
        scale=_scale(config),
        left_out=config.get(LEFT_OUT) == 1,
        initial=config.get(INITIAL) == 1,
    )


@functools.lru_cache(maxsize=4)  # every request of a run has the same
def _settings(text: str) -> Settings:
    if len(text) > SETTINGS_LIMIT:
        raise DataError(
            f"The server's settings have {len(text):,} characters, more than {SETTINGS_LIMIT:,}: shorten them."
        )
    try:
        return Settings.from_run_config(parse_object(text))
    except MalformedError as error:
        raise DataError(
            f"The server's settings cannot be read ({error}): run the same pfedgp version on both sides."
        ) from error


def _count(config: ConfigRecord, key: str) -> int:
    """A round that the server names, 0 where it names none; DataError where it can be none."""
    value = config.get(key, 0)
    if type(value) is not int or not 0 <= value < 2**31:
        raise DataError(
            f"The server's {key} {str(value)[:40]!r} is no round: run the same pfedgp version on both sides."
        )
    return value


def _classes(config: ConfigRecord) -> tuple[int, ...]:
    """The classes that the server names; DataError where it names something else."""
    named = config.get(CLASSES, "")
    try:
        ids = tuple(map(int, str(named).split(","))) if named else ()
    except ValueError:
        ids = (-1,)
    if any(not 0 <= each < 2**31 for each in ids) or len(set(ids)) < len(ids):
        raise DataError(
            f"The server's classes {str(named)[:40]!r} are none: run the same pfedgp version on both sides."
        )
    return ids


def _scale(config: ConfigRecord) -> float:
    """The output scale that the server names, 0 where it names none; DataError where it can be none."""
    value = config.get(SCALE, 0.0)
    if not isinstance(value, float) or not (value == 0 or 1e-6 <= value <= 1e6):
        raise DataError(
            f"The server's output scale {str(value)[:40]!r} is none: run the same pfedgp version on both sides."
        )
    return value


def read_published(message: Message) -> TrainedModel:
    """Unpack and verify the model that the server publishes."""
    config = message.content.config_records[CONFIG]
    return published_model({key: config.get(key) for key in (MODEL, MODEL_HASH)}, _vector(message))


def _vector(message: Message) -> np.ndarray | None:
    """The request's shared vector, from its own part or from the config; None where there is none."""
    arrays = message.content.array_records.get(ARRAYS)
    if arrays is None:
        return unpack_vector(message.content.config_records[CONFIG])
    try:
        return vector_of(arrays[SHARED])
    except DataError as error:
        raise DataError(
            f"The server's request carries no vector ({error}): run the same pfedgp version on both sides."
        ) from None


def reply_to(
    message: Message,
    record: Hello | TrainReply | EvaluateReply | OnboardReply,
    vector: np.ndarray | Encoded | None = None,
) -> Message:
    """Pack a record, and the updated vector or the encoded update where there is one, into the reply to `message`."""
    small = vector is None or fits(vector)
    content = RecordDict({CONFIG: ConfigRecord(pack(*record.to_wire(), vector if small else None))})
    if vector is not None and not small:
        values = np.frombuffer(vector.data, np.uint8) if isinstance(vector, Encoded) else vector
        content[ARRAYS] = ArrayRecord({SHARED: Array(**array_fields(values))})
    return Message(content, reply_to=message)


def answers_errors(handler: Handler) -> Handler:
    """Turn an exception of `handler` into an error reply that carries the exception's type and nothing else.

    The text of an exception may quote data or name paths of the site. It goes to the client's own log, with the
    traceback.
    """

    @functools.wraps(handler)
    def guarded(message: Message, context: Context) -> Message:
        _log_to_site()
        try:
            return handler(message, context)
        except Exception as error:  # noqa: BLE001 (whatever a handler raises, the server gets a reply)
            reason = note_error(message.metadata.message_type, error, context)
            return Message(Error(code=CLIENT_APP_RAISED, reason=reason), reply_to=message)

    return guarded


def note_error(what: str, error: Exception, context: Context) -> str:
    """Log an exception for the site, and return its type, which alone may leave the site."""
    if isinstance(error, PFedGPError):
        logger.warning("%s", printable(str(error), SENTENCE_LIMIT))  # for the site's operator
    logger.error("%s failed on node %s\n%s", what, context.node_id, _traceback(error))
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__name__ not in _FINER)


def _traceback(error: Exception) -> str:
    """The traceback in printable lines, and not too many: it may quote what a server sent."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    if len(lines) > TRACEBACK_LINES:
        lines = [*lines[: TRACEBACK_LINES // 2], "...", *lines[-TRACEBACK_LINES // 2 :]]
    return "\n".join(printable(line, SENTENCE_LIMIT) for line in lines)


def _log_to_site() -> None:
    """Give the client's log a place of its own, once per process."""
    if logger.handlers:
        return
    path = os.environ.get(CLIENT_LOG)
    handler = logging.FileHandler(path, encoding="utf-8", delay=True) if path else logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(name)s %(levelname)s: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    logger.propagate = False
