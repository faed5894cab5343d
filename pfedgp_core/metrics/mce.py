"""Maximum calibration error: the largest distance of confidence and accuracy in a bin of confidence."""

import numpy as np

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.classification import MetricSums

__all__ = ["MCE", "maximum_calibration_error"]


def maximum_calibration_error(sums: MetricSums) -> float:
    """Return max_b |acc_b - conf_b| over the bins that are not empty."""
    full = sums.bin_count > 0
    gap = np.abs(sums.bin_correct - sums.bin_confidence)
    return float((gap[full] / sums.bin_count[full]).max())


MCE = Metric(
    key="mce",
    title="MCE",
    of=maximum_calibration_error,
    tasks=("classification",),
    better="lower",
    shown=("pooled",),
)
