"""A predictor measured on one client's data: sums that can be pooled, and for the test data those for calibration."""

from collections import Counter

from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.methods.evaluation import EvaluationResult
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.metrics.calibration import CalibrationSums, confusion_counts, temperature_sums
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.own_classes import label_columns, own_class_sums

__all__ = ["measure"]


def measure(predictor: Predictor, data: ClientData, split: str) -> EvaluationResult:
    """Measure a predictor on the split ``validation`` or ``test``, which is not empty.

    A test label that the predictor does not know has probability 0 and counts as an error. Where the predictor knows
    more than the classes of the training data, it is also measured over these alone. With the test data come the sums
    at every temperature, of the validation data too, and the class confusion.
    """
    test: TensorSplit = getattr(data, split)
    probabilities = predictor.predict_proba(test.inputs)
    classes, labels = predictor.classes_, test.labels.cpu().numpy()
    columns = label_columns(classes, labels)
    calibration = None
    if split == "test":
        calibration = CalibrationSums(
            _validation_sums(predictor, data.validation),
            temperature_sums(probabilities, columns),
            confusion_counts(labels, classes[probabilities.argmax(axis=1)]),
        )
    sums: MetricSums = metric_sums(probabilities, columns)
    own = own_class_sums(probabilities, classes, labels, data.train.labels.cpu().numpy())
    return EvaluationResult(sums, Counter(predictor.counters_), dict(predictor.seconds_), calibration, own)


def _validation_sums(predictor: Predictor, validation: TensorSplit) -> tuple[MetricSums, ...]:
    if not len(validation.labels):
        return CalibrationSums.zero().validation
    probabilities = predictor.predict_proba(validation.inputs)
    return temperature_sums(probabilities, label_columns(predictor.classes_, validation.labels.cpu().numpy()))
