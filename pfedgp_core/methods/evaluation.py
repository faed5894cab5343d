"""Evaluation of one client: features, personal model, sums of metrics. No prediction leaves the client."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.learning.timing import PhaseTimer
from pfedgp_core.metrics.calibration import CalibrationSums, confusion_counts, temperature_sums
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.regression import RegressionSums, regression_sums
from pfedgp_core.model.features import compute_features
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.regression.task import PersonalRegressor
from pfedgp_core.tree.classifier import PersonalClassifier

__all__ = ["EvaluationResult", "evaluate_client"]


@dataclass
class EvaluationResult:
    """Sums of metrics over the client's points, counters of recoveries, seconds by phase (``network``, ``gp``).

    A classifier has ``calibration`` too where validation data were given.
    """

    sums: MetricSums | RegressionSums
    counters: Counter[str]
    seconds: dict[str, float]
    calibration: CalibrationSums | None = None


def evaluate_client(
    state: SharedState,
    train: TensorSplit,
    test: TensorSplit,
    settings: Settings,
    stream: Stream,
    clock: Callable[[], float] = time.perf_counter,
    validation: TensorSplit | None = None,
) -> EvaluationResult:
    """Fit the personal classifier or regressor on `train` under the shared weights and measure it on `test`.

    A test label that the client never trained on has probability 0 and counts as an error. A client without training or
    without test data gives empty sums (n = 0), never NaN. With `validation`, the same classifier predicts these data
    too, for the choice of a temperature.
    """
    regression = settings.task == "regression"
    if not len(train.labels) or not len(test.labels):
        return EvaluationResult(RegressionSums() if regression else MetricSums(), Counter(), {})
    timer = PhaseTimer(clock)
    state.eval()
    with timer.phase("network"):
        train_features, test_features = (compute_features(state.network, split.inputs) for split in (train, test))
    if regression:
        data = (train_features, train.labels, test_features, test.labels)
        with timer.phase("gp"):
            sums, counters = _measure_regressor(PersonalRegressor(settings, state.regression_head(settings)), *data)
        return EvaluationResult(sums, counters, dict(timer.seconds))
    with timer.phase("gp"):
        classifier = PersonalClassifier(settings, stream, state.inducing, state.kernel(settings))
        probabilities = classifier.fit(train_features, train.labels).predict_proba(test_features)
    calibration = None
    if validation is not None:
        calibration = CalibrationSums(
            _validation_sums(state, classifier, validation, timer),
            temperature_sums(probabilities, _columns(classifier, test.labels)),
            confusion_counts(test.labels.cpu().numpy(), classifier.classes_[probabilities.argmax(axis=1)]),
        )
    measured = metric_sums(probabilities, _columns(classifier, test.labels))
    return EvaluationResult(measured, classifier.counters_, dict(timer.seconds), calibration)


def _columns(classifier: PersonalClassifier, labels: Tensor) -> np.ndarray:
    """Column of each label among the classifier's classes; -1 where it is none of them."""
    truth = labels.cpu().numpy()
    columns = np.searchsorted(classifier.classes_, truth).clip(max=len(classifier.classes_) - 1)
    return np.where(classifier.classes_[columns] == truth, columns, -1)


def _validation_sums(
    state: SharedState, classifier: PersonalClassifier, validation: TensorSplit, timer: PhaseTimer
) -> tuple[MetricSums, ...]:
    if not len(validation.labels):
        return CalibrationSums.zero().validation
    with timer.phase("network"):
        features = compute_features(state.network, validation.inputs)
    with timer.phase("gp"):
        probabilities = classifier.predict_proba(features)
    return temperature_sums(probabilities, _columns(classifier, validation.labels))


def _measure_regressor(
    regressor: PersonalRegressor, features: Tensor, targets: Tensor, test_features: Tensor, test_targets: Tensor
) -> tuple[MetricSums | RegressionSums, Counter[str]]:
    mean, deviation = regressor.fit(features, targets).predict(test_features, return_std=True)
    own = regressor.standardiser_
    sums = regression_sums(mean, deviation, test_targets.cpu().numpy(), own.mean, own.deviation)
    return sums, regressor.counters_
