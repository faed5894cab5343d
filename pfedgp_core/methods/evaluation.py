"""Evaluation of one client: features, personal model, sums of metrics. No prediction leaves the client."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.heads.base import Personal, Sums
from pfedgp_core.heads.make import make_head
from pfedgp_core.learning.timing import PhaseTimer
from pfedgp_core.metrics.calibration import CalibrationSums
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.evidence import TemperatureEvidence
from pfedgp_core.model.features import compute_features
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream

__all__ = ["EvaluationResult", "evaluate_client"]


@dataclass
class EvaluationResult:
    """Sums of metrics over the client's points, counters of recoveries, seconds by phase (``network``, ``gp``).

    Where the task calibrates, there are ``calibration`` and ``evidence`` too if validation data were given. ``own``
    holds the sums over the client's own classes alone; None means that they are equal to ``sums``.
    """

    sums: Sums
    counters: Counter[str]
    seconds: dict[str, float]
    calibration: CalibrationSums | None = None
    own: MetricSums | None = None
    evidence: TemperatureEvidence | None = None


def evaluate_client(
    state: SharedState,
    train: TensorSplit,
    test: TensorSplit,
    settings: Settings,
    stream: Stream,
    clock: Callable[[], float] = time.perf_counter,
    validation: TensorSplit | None = None,
    left_out: bool = False,
) -> EvaluationResult:
    """Fit the personal classifier or regressor on `train` under the shared weights and measure it on `test`.

    A test label that the client never trained on has probability 0 and counts as an error. A client without training or
    without test data gives empty sums (n = 0), never NaN. With `validation`, the same classifier predicts these data
    too, for the choice of a temperature; with `left_out`, its training data, each sample from all others.
    """
    head = make_head(settings)
    if not len(train.labels) or not len(test.labels):
        return EvaluationResult(head.no_sums(), Counter(), {})
    timer = PhaseTimer(clock)
    state.eval()
    with timer.phase("network"):
        train_features, test_features = (compute_features(state.network, split.inputs) for split in (train, test))
    with timer.phase("gp"):
        personal = head.personal(state, stream)
        personal.fit(train_features, train.labels)
        predicted = personal.predict(test_features)
    calibration, evidence = None, None
    if validation is not None and head.calibrates:
        both = (predicted, test.labels), _predicted(state, personal, validation, timer) if len(validation) else None
        calibration = personal.calibration(*both)
        with timer.phase("gp"):
            evidence = personal.evidence(*both, left_out)
    measured = personal.sums(predicted, test.labels)
    own = personal.own_sums(predicted, test.labels)
    return EvaluationResult(measured, personal.counters, dict(timer.seconds), calibration, own, evidence)


def _predicted(
    state: SharedState, personal: Personal, split: TensorSplit, timer: PhaseTimer
) -> tuple[np.ndarray, Tensor]:
    with timer.phase("network"):
        features = compute_features(state.network, split.inputs)
    with timer.phase("gp"):
        predicted: np.ndarray = personal.predict(features)
    return predicted, split.labels
