"""Root mean squared error, in the unit of the targets."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.regression import RegressionSums

__all__ = ["RMSE", "root_mean_squared_error"]


def root_mean_squared_error(sums: RegressionSums) -> float:
    """Return sqrt(mean of (y - mean)^2)."""
    return float((sums.squared_error / sums.n) ** 0.5)


RMSE = Metric(
    key="rmse",
    title="RMSE",
    of=root_mean_squared_error,
    tasks=("regression",),
    better="lower",
    shown=("validation", "client", "pooled"),
)
