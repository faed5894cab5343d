"""What the two tasks report: which sums travel, which number picks the best model, and what the tables show."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pfedgp_core.metrics import MetricSums, summarise
from pfedgp_core.regression_metrics import RegressionSums, summarise_regression

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

    def better(self, score: float | None, best: float | None) -> bool:
        """Whether a model with `score` replaces one with `best`; None for a model that was not measured."""
        if score is None or best is None:
            return score is not None
        return score > best if self.larger_is_better else score < best


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
