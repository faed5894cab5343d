"""Metrics as papers define them: over every bin that is not empty, where a run asks for ten samples in a bin."""

from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.mce import maximum_calibration_error
from pfedgp_core.metrics.summary import summarise

__all__ = ["reference_metrics"]


def reference_metrics(sums: MetricSums) -> dict[str, float | int | None]:
    """Return `summarise` with the maximum calibration error over all bins that hold a sample."""
    return {**summarise(sums), "mce": maximum_calibration_error(sums) if sums.n else None}
