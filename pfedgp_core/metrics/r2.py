"""R^2: the share of the targets' variance that the predictions explain."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.regression import RegressionSums, target_spread

__all__ = ["R2", "explained_variance"]


def explained_variance(sums: RegressionSums) -> float | None:
    """Return 1 - sum (y - mean)^2 / sum (y - mean of all y)^2; None where the targets do not differ."""
    spread = target_spread(sums)
    return None if spread is None else 1 - sums.squared_error / spread


R2 = Metric(
    key="r2",
    title="R2",
    of=explained_variance,
    tasks=("regression",),
    better="higher",
    shown=("client", "pooled"),
)
