"""A predictor measured on one client's data: sums that can be pooled, and for the test data those for calibration."""

from collections import Counter

from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.heads.classification import class_calibration, class_columns, class_evidence
from pfedgp_core.methods.evaluation import EvaluationResult
from pfedgp_core.methods.predictor import LeavesOneOut, Predictor
from pfedgp_core.metrics.classification import metric_sums
from pfedgp_core.metrics.own_classes import own_class_sums

__all__ = ["measure"]


def measure(predictor: Predictor, data: ClientData, split: str, left_out: bool = False) -> EvaluationResult:
    """Measure a predictor on the split ``validation`` or ``test``, which is not empty.

    A test label that the predictor does not know has probability 0 and counts as an error. Where the predictor knows
    more than the classes of the training data, it is also measured over these alone. With the test data come the sums
    at every temperature, of the validation data too, and the class confusion;
    with `left_out` those of the training data, each sample predicted from all others, where the predictor can.
    """
    test: TensorSplit = getattr(data, split)
    classes, probabilities = predictor.classes_, predictor.predict_proba(test.inputs)
    calibration, evidence = None, None
    if split == "test":
        validation, labels = data.validation, data.validation.labels
        before = (predictor.predict_proba(validation.inputs), labels) if len(labels) else None
        calibration = class_calibration(classes, (probabilities, test.labels), before)
        without = None
        if left_out and isinstance(predictor, LeavesOneOut):
            without = predictor.leave_one_out_log_proba(), data.train.labels
        evidence = class_evidence(classes, (probabilities, test.labels), before, without)
    sums = metric_sums(probabilities, class_columns(classes, test.labels))
    own = own_class_sums(probabilities, classes, test.labels.cpu().numpy(), data.train.labels.cpu().numpy())
    return EvaluationResult(sums, Counter(predictor.counters_), dict(predictor.seconds_), calibration, own, evidence)
