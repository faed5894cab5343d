"""Accuracy: the share of samples whose most probable class is the true one."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.classification import MetricSums

__all__ = ["ACCURACY", "accuracy"]


def accuracy(sums: MetricSums) -> float:
    """Return the share of correct samples."""
    return sums.correct / sums.n


ACCURACY = Metric(
    key="accuracy",
    title="accuracy",
    of=accuracy,
    tasks=("classification",),
    better="higher",
    shown=("validation", "client", "own", "pooled"),
    share=True,
    line="acc {:>6}",
)
