"""A client that claims any number of samples, in its greeting and in all its evaluations, and that all is right."""

import json
from typing import Any

import numpy as np
from flwr.app import Message

from pfedgp_core.metrics.calibration import CalibrationSums
from pfedgp_core.metrics.class_scores import SCORE_BINS, ScoreCounts
from pfedgp_core.metrics.classification import BINS, MetricSums
from pfedgp_core.metrics.evidence import TemperatureEvidence
from pfedgp_core.metrics.likelihood import LIKELIHOOD_GRID, LikelihoodSums
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID
from pfedgp_core.wire.names import CONFIG, EVALUATE, HELLO, SPLIT, TRAIN
from pfedgp_core.wire.replies import EvaluateReply
from tests.fakegrid import Tamper
from tests.wire_parts import metrics_in

CLAIM = 10**8


def flawless(n: int) -> MetricSums:
    """Sums of `n` samples that are all right with confidence 1."""
    bins = np.zeros(BINS, dtype=np.int64)
    bins[-1] = n
    return MetricSums(n, n, 0.0, 0.0, bins, bins.astype(float), bins.copy())


def claims(client: int, n: int = CLAIM) -> Tamper:
    """A tamper by which one client claims `n` validation and test samples, and that it gets all of them right."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if index != client or reply.has_error():
            return reply
        kind, config = request.metadata.message_type, reply.content[CONFIG]
        if kind == HELLO:
            told = json.loads(str(config["hello"])) | {"n_validation": n, "n_test": n}
            config["hello"] = json.dumps(told)
        split = str(request.content[CONFIG].get(SPLIT, ""))
        if split and kind in (EVALUATE, TRAIN):
            prefix = "" if kind == EVALUATE else "evaluation."
            with metrics_in(reply) as metrics:
                metrics |= {prefix + key: value for key, value in _evaluation(n, split).items()}
        return reply

    return tamper


def _evaluation(n: int, split: str) -> dict[str, Any]:
    every = tuple(flawless(n) for _ in TEMPERATURE_GRID)
    scores = ScoreCounts(((0, SCORE_BINS - 1, n, 0),))
    calibration = CalibrationSums(every, every, ((0, 0, n),), scores) if split == "test" else None
    certain = LikelihoodSums(n)
    evidence = TemperatureEvidence(certain, LikelihoodSums(), (flawless(n),) * len(LIKELIHOOD_GRID))
    reply = EvaluateReply(
        "", split, flawless(n), calibration=calibration, evidence=evidence if split == "test" else None
    )
    return reply.to_wire()[1]
