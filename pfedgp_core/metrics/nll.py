"""Negative log-likelihood: mean of -log p(true class), or of -log density of the true target."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.regression import RegressionSums

__all__ = ["NLL", "negative_log_likelihood"]


def negative_log_likelihood(sums: MetricSums | RegressionSums) -> float:
    """Return the mean over samples, in nats."""
    return float(sums.nll_sum / sums.n)


NLL = Metric(
    key="nll",
    title="NLL",
    of=negative_log_likelihood,
    tasks=(
        "classification",
        "regression",
    ),
    better="lower",
    shown=("record", "client", "own", "pooled"),
)
