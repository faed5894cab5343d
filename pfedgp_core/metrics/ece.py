"""Expected calibration error: mean distance of confidence and accuracy over the bins of confidence."""

import numpy as np

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.classification import MetricSums

__all__ = ["ECE", "expected_calibration_error"]


def expected_calibration_error(sums: MetricSums) -> float:
    """Return sum_b |B_b| / n |acc_b - conf_b| (paper, section "Calibration")."""
    return float(np.abs(sums.bin_correct - sums.bin_confidence).sum() / sums.n)


ECE = Metric(
    key="ece",
    title="ECE",
    of=expected_calibration_error,
    tasks=("classification",),
    better="lower",
    shown=("validation", "client", "own", "pooled"),
)
