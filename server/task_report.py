"""What the two tasks report: which sums travel, which number picks the best model, and what the tables show."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pfedgp_core.metrics.classification import MetricSums, summarise
from pfedgp_core.metrics.regression import RegressionSums, summarise_regression

__all__ = ["CLASSIFICATION", "REGRESSION", "Sums", "TaskReport", "task_report"]

Sums = MetricSums | RegressionSums


@dataclass(frozen=True)
class TaskReport:
    """How one task is measured and shown. All names are keys of what `summarise` returns.

    Attributes
    ----------
    sums : type
        Of the sums in an evaluation reply; called without arguments it gives those over no sample.
    summarise : callable
        Sums -> dict of metrics, None for a metric that does not exist.
    score : str
        The metric of the pooled validation data that picks the best model.
    larger_is_better : bool
        Whether that is the model with the largest score or with the smallest.
    validation, client, pooled : tuple of str
        Metrics of a round's validation, of a client's row, and of the summary.
    """

    sums: type[MetricSums] | type[RegressionSums]
    summarise: Callable[[Any], dict[str, float | int | None]]
    score: str
    larger_is_better: bool
    validation: tuple[str, ...]
    client: tuple[str, ...]
    pooled: tuple[str, ...]

    @property
    def score_key(self) -> str:
        """Name of the score in files, where validation and test data need telling apart."""
        return f"validation_{self.score}"

    def better(self, metrics: Mapping[str, float | int | None], best: Mapping[str, float | int | None]) -> bool:
        """Whether a model with pooled validation `metrics` replaces the one with `best`.

        The score decides, and between equal scores the negative log-likelihood: among models that make the same number
        of errors, the better calibrated one. Without a score a model was not measured.
        """
        ranks = [self._rank(m) for m in (metrics, best)]
        return ranks[0] is not None and (ranks[1] is None or ranks[0] > ranks[1])

    def _rank(self, metrics: Mapping[str, float | int | None]) -> tuple[float, float] | None:
        score, nll = metrics.get(self.score), metrics.get("nll")
        if score is None:
            return None
        return (score if self.larger_is_better else -score), -(nll or 0.0)


CLASSIFICATION = TaskReport(
    sums=MetricSums,
    summarise=summarise,
    score="accuracy",
    larger_is_better=True,
    validation=("accuracy", "ece"),
    client=("accuracy", "nll", "ece", "brier"),
    pooled=("accuracy", "ece", "mce", "brier", "nll"),
)
REGRESSION = TaskReport(
    sums=RegressionSums,
    summarise=summarise_regression,
    # In units of each client's own deviation, or the clients with the widest targets would choose alone.
    score="standard_rmse",
    larger_is_better=False,
    validation=("standard_rmse", "rmse", "nll", "coverage"),
    client=("rmse", "nll", "coverage", "r2"),
    pooled=("rmse", "mae", "nll", "r2", "coverage", "standard_rmse", "baseline_rmse", "baseline_r2"),
)


def task_report(task: str) -> TaskReport:
    """Return the report of ``settings.task``."""
    return REGRESSION if task == "regression" else CLASSIFICATION
