"""Root mean squared error of each client's training mean as the prediction, which any model has to beat."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.regression import RegressionSums

__all__ = ["BASELINE_RMSE", "baseline_root_mean_squared_error"]


def baseline_root_mean_squared_error(sums: RegressionSums) -> float:
    """Return sqrt(mean of (y - m)^2), with the mean m of the client's training targets."""
    return float((sums.baseline_square / sums.n) ** 0.5)


BASELINE_RMSE = Metric(
    key="baseline_rmse",
    title="baseline RMSE",
    of=baseline_root_mean_squared_error,
    tasks=("regression",),
    better="lower",
    shown=("baseline",),
)
