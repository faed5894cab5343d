"""R^2 of each client's training mean as the prediction, which any model has to beat."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.regression import RegressionSums, target_spread

__all__ = ["BASELINE_R2", "baseline_explained_variance"]


def baseline_explained_variance(sums: RegressionSums) -> float | None:
    """Return 1 - sum (y - m)^2 / sum (y - mean of all y)^2; None where the targets do not differ."""
    spread = target_spread(sums)
    return None if spread is None else 1 - sums.baseline_square / spread


BASELINE_R2 = Metric(
    key="baseline_r2",
    title="baseline R2",
    of=baseline_explained_variance,
    tasks=("regression",),
    better="higher",
    shown=("baseline",),
)
