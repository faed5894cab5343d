"""A predictor measured on one client's data: sums that can be pooled, and for the test data those for calibration."""

from collections import Counter

import numpy as np
from torch import Tensor

from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.methods.evaluation import EvaluationResult
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.metrics.calibration import CalibrationSums, confusion_counts, temperature_sums
from pfedgp_core.metrics.classification import MetricSums, metric_sums

__all__ = ["label_columns", "measure"]


def label_columns(classes: np.ndarray, labels: Tensor) -> np.ndarray:
    """Column of each label among the sorted `classes` [k]; -1 where it is none of them. Shapes: [T] -> [T]."""
    truth = labels.cpu().numpy()
    columns = np.searchsorted(classes, truth).clip(max=len(classes) - 1)
    found: np.ndarray = np.where(classes[columns] == truth, columns, -1)
    return found


def measure(predictor: Predictor, data: ClientData, split: str) -> EvaluationResult:
    """Measure a predictor on the split ``validation`` or ``test``, which is not empty.

    A test label that the predictor does not know has probability 0 and counts as an error. With the test data come the
    sums at every temperature, of the validation data too, and the class confusion.
    """
    test: TensorSplit = getattr(data, split)
    probabilities = predictor.predict_proba(test.inputs)
    columns = label_columns(predictor.classes_, test.labels)
    calibration = None
    if split == "test":
        calibration = CalibrationSums(
            _validation_sums(predictor, data.validation),
            temperature_sums(probabilities, columns),
            confusion_counts(test.labels.cpu().numpy(), predictor.classes_[probabilities.argmax(axis=1)]),
        )
    sums: MetricSums = metric_sums(probabilities, columns)
    return EvaluationResult(sums, Counter(predictor.counters_), dict(predictor.seconds_), calibration)


def _validation_sums(predictor: Predictor, validation: TensorSplit) -> tuple[MetricSums, ...]:
    if not len(validation.labels):
        return CalibrationSums.zero().validation
    probabilities = predictor.predict_proba(validation.inputs)
    return temperature_sums(probabilities, label_columns(predictor.classes_, validation.labels))
