"""All metrics of sums: the registered ones of the sums' task."""

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.regression import RegressionSums
from pfedgp_core.registry import METRICS

__all__ = ["Sums", "find_metric", "metrics_of", "summarise", "sums_of"]

Sums = MetricSums | RegressionSums


def sums_of(task: str) -> type[MetricSums] | type[RegressionSums]:
    """Return the sums that measure a task; called without arguments they are those over no sample."""
    return {kind.task: kind for kind in (MetricSums, RegressionSums)}[task]


def metrics_of(task: str) -> tuple[Metric, ...]:
    """Return the metrics of a task, in the order of the registry."""
    found = [each.load() for each in METRICS.values()]
    return tuple(metric for metric in found if task in metric.tasks)


def find_metric(key: str) -> Metric | None:
    """Return the registered metric of this key; None where there is none."""
    return METRICS[key].load() if key in METRICS else None


def summarise(sums: Sums) -> dict[str, float | int | None]:
    """Return every metric of the sums' task by its key, and ``n``; a metric is None, never NaN, where n is 0."""
    return {**{metric.key: metric.value(sums) for metric in metrics_of(sums.task)}, "n": sums.n}
