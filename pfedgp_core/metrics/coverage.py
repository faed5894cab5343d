"""Coverage: the share of targets inside their central 95 % interval, which should be 95 %."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.regression import RegressionSums

__all__ = ["COVERAGE", "interval_coverage"]


def interval_coverage(sums: RegressionSums) -> float:
    """Return the share of targets inside the widest interval of ``LEVELS``."""
    return int(sums.covered[-1]) / sums.n


COVERAGE = Metric(
    key="coverage",
    title="95 % interval coverage",
    of=interval_coverage,
    tasks=("regression",),
    better="neither",
    shown=("validation", "client", "pooled"),
    share=True,
)
