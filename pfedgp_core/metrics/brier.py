"""Brier score: mean squared distance of the probabilities from the one-hot true class."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.classification import MetricSums

__all__ = ["BRIER", "brier_score"]


def brier_score(sums: MetricSums) -> float:
    """Return the mean over samples of sum_k (p_k - onehot_k)^2."""
    return float(sums.brier_sum / sums.n)


BRIER = Metric(
    key="brier",
    title="Brier score",
    of=brier_score,
    tasks=("classification",),
    better="lower",
    shown=("client", "own", "pooled"),
)
