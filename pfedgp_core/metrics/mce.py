"""Maximum calibration error: the largest distance of confidence and accuracy in a bin of confidence.

In a bin of one sample that distance says nothing about calibration: it is the sample's own confidence, or what lacks.
So a run's number is of the bins with at least ten samples.
"""

import numpy as np

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.classification import MetricSums

__all__ = ["LEAST", "MCE", "maximum_calibration_error"]

LEAST = 10


def maximum_calibration_error(sums: MetricSums, least: int = 1) -> float | None:
    """Return max_b |acc_b - conf_b| over the bins with at least `least` samples; None where there is no such bin."""
    full = sums.bin_count >= max(1, least)
    gap = np.abs(sums.bin_correct - sums.bin_confidence)
    return float((gap[full] / sums.bin_count[full]).max()) if full.any() else None


def _of_run(sums: MetricSums) -> float | None:
    return maximum_calibration_error(sums, LEAST)


MCE = Metric(
    key="mce",
    title="MCE",
    of=_of_run,
    tasks=("classification",),
    better="lower",
    shown=("pooled",),
)
