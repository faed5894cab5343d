"""Mean absolute error, in the unit of the targets."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.regression import RegressionSums

__all__ = ["MAE", "mean_absolute_error"]


def mean_absolute_error(sums: RegressionSums) -> float:
    """Return the mean distance of targets from predictions."""
    return sums.absolute_error / sums.n


MAE = Metric(
    key="mae",
    title="MAE",
    of=mean_absolute_error,
    tasks=("regression",),
    better="lower",
    shown=("pooled",),
)
