"""Root mean squared error in units of each client's own deviation, so that clients of different spread count alike."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.regression import RegressionSums

__all__ = ["STANDARD_RMSE", "standard_root_mean_squared_error"]


def standard_root_mean_squared_error(sums: RegressionSums) -> float:
    """Return sqrt(mean of (y - mean)^2 / s^2), with the deviation s of the client's training targets."""
    return float((sums.standard_square / sums.n) ** 0.5)


STANDARD_RMSE = Metric(
    key="standard_rmse",
    title="RMSE [sd]",
    of=standard_root_mean_squared_error,
    tasks=("regression",),
    better="lower",
    shown=("validation", "pooled"),
    line="rmse {:>5} sd",
)
