"""What a mock site answers: plausible greetings, updates that move nothing, sums of metrics that fit."""

import hashlib
import json

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, RecordDict

from pfedgp_core.metrics.classification import BINS, MetricSums
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.layout import fits, pack, unpack_vector
from pfedgp_core.wire.names import ARRAYS, CONFIG, EVALUATE, HELLO, ONBOARD, ONBOARDED, SHARED, SPLIT, TRAIN
from pfedgp_core.wire.replies import EvaluateReply, TrainReply

__all__ = ["CLASSES", "content_of"]

CLASSES = ("a", "b")
SHAPE = (3, 32, 32)
SAMPLES = {"train": 80, "validation": 10, "test": 10}


def content_of(name: str, message: Message) -> RecordDict | None:
    """The content of a site's reply; None where no answer is wanted.

    Parameters
    ----------
    name : str
        Of the site.
    message : Message
        The server's request.
    """
    config = message.content.config_records[CONFIG]
    kind = message.metadata.message_type
    if kind == HELLO:
        counts = (SAMPLES["train"], SAMPLES["validation"], SAMPLES["test"])
        moments = ((0.5,) * SHAPE[0], (0.25,) * SHAPE[0])
        return _packed(Hello(name, (0, 1), CLASSES, *counts, SHAPE, "", {}, *moments))
    if kind == TRAIN:
        vector = _vector(message)
        noise = np.random.default_rng(0).normal(scale=1e-4, size=len(vector)).astype(np.float32)
        riding = _evaluation(name, str(config[SPLIT])) if config.get(SPLIT) else None
        return _packed(TrainReply(name, "ok", SAMPLES["train"], 0.5, 1, evaluation=riding), vector + noise)
    if kind == EVALUATE:
        return _packed(_evaluation(name, str(config[SPLIT])))
    return _onboarded(name, message) if kind == ONBOARD else None


def _onboarded(name: str, message: Message) -> RecordDict:
    """As `pfedgp_core.wire.publication.OnboardReply`, which would import torch."""
    about = {
        "name": name,
        "samples": SAMPLES["train"],
        "classes": CLASSES,
        "took_part": None,
        "outcome": "created",
        "model_sha256": hashlib.sha256(_vector(message).tobytes()).hexdigest(),
        "seconds": 0.0,
    }
    return RecordDict({CONFIG: ConfigRecord(pack({ONBOARDED: json.dumps(about)}, {}))})


def _vector(message: Message) -> np.ndarray:
    vector = unpack_vector(message.content.config_records[CONFIG])
    return message.content.array_records[ARRAYS][SHARED].numpy() if vector is None else vector


def _evaluation(name: str, split: str) -> EvaluateReply:
    n = SAMPLES[split]
    sums = MetricSums(n, n, 0.1 * n, 0.05 * n)
    sums.bin_count[BINS - 1] = sums.bin_correct[BINS - 1] = n
    sums.bin_confidence[BINS - 1] = 0.97 * n
    return EvaluateReply(name, split, sums)


def _packed(record: Hello | TrainReply | EvaluateReply, vector: np.ndarray | None = None) -> RecordDict:
    packed = vector if vector is not None and fits(vector) else None
    content = RecordDict({CONFIG: ConfigRecord(pack(*record.to_wire(), packed))})
    if vector is not None and packed is None:
        content[ARRAYS] = ArrayRecord({SHARED: Array(vector)})
    return content
