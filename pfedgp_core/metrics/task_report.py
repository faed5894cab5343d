"""The report of a task: the sums that travel, the metric that picks the best model, and the metrics of each table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.metrics.base import Metric, Place
from pfedgp_core.metrics.best_choice import Measured, improves
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.regression import RegressionSums
from pfedgp_core.metrics.summary import Sums, find_metric, metrics_of, summarise, sums_of
from pfedgp_core.registry import PARTITIONS, TASKS

__all__ = ["CLASSIFICATION", "REGRESSION", "Sums", "TaskReport", "chosen_by_own", "task_report"]

_CLEAR = 0.01  # a point of accuracy, or a hundredth of a deviation


@dataclass(frozen=True)
class TaskReport:
    """How one task is measured and shown. The metrics are the registered ones of the task.

    Attributes
    ----------
    task : str
        As ``settings.task`` names it.
    score : str
        Key of the metric of the validation data that picks the best model.
    worth : callable
        Sums over at least one sample -> mean over the samples of what the score pools, larger where it is better.
    sample : float
        How much one sample changes the sum of that; 0 where it does not count samples.
    labels : callable
        Settings of a simulation -> what its clients' labels are, in words.
    inference : callable
        Settings -> name and words of how the posterior is found.
    """

    task: str
    score: str
    worth: Callable[[Any], float]
    sample: float
    labels: Callable[[Settings], str]
    inference: Callable[[Settings], tuple[str, str]]

    @property
    def sums(self) -> type[MetricSums] | type[RegressionSums]:
        """Type of the sums in an evaluation reply; called without arguments it gives those over no sample."""
        return sums_of(self.task)

    def summarise(self, sums: Sums) -> dict[str, float | int | None]:
        """Return all metrics of sums, None for one that does not exist, and ``n``."""
        return summarise(sums)

    def metrics(self, *places: Place) -> tuple[Metric, ...]:
        """Return the metrics that are shown in at least one of the places."""
        return tuple(metric for metric in metrics_of(self.task) if set(places) & set(metric.shown))

    @property
    def validation(self) -> tuple[str, ...]:
        """Keys of the metrics of a round's validation."""
        return _keys(self.metrics("validation"))

    @property
    def recorded(self) -> tuple[str, ...]:
        """Keys of the metrics of a round's validation that its record holds."""
        return _keys(self.metrics("validation", "record"))

    @property
    def client(self) -> tuple[str, ...]:
        """Keys of the metrics in a client's row."""
        return _keys(self.metrics("client"))

    @property
    def pooled(self) -> tuple[str, ...]:
        """Keys of the metrics in the summary."""
        return _keys(self.metrics("pooled", "baseline"))

    def own(self, sums: Sums) -> dict[str, float | int | None]:
        """Return the metrics of sums over the client's own classes, with the keys of files; empty in regression."""
        shown = self.metrics("own") if TASKS[self.task].classes else ()
        return {f"own_{metric.key}": metric.value(sums) for metric in shown}

    @property
    def score_key(self) -> str:
        """Name of the score in files, where validation and test data need telling apart."""
        return f"validation_{self.score}"

    def chosen_by(self, classes: str) -> str:
        """Name in files of the score that picks the best model over ``all`` classes, or each client's ``own``."""
        return f"validation_own_{self.score}" if self.by_own(classes) else self.score_key

    def by_own(self, classes: str) -> bool:
        """Whether ``best-classes`` compares models over each client's own classes, where there are any."""
        return classes == "own" and bool(TASKS[self.task].classes)

    def deciding(self, record: Mapping[str, Any], classes: str) -> float | None:
        """The pooled number of a round's record by which its model is compared; None where there is none.

        Where every classifier knows its client's own classes alone, a record has one number.
        """
        score = record.get(self.chosen_by(classes), record.get(self.score_key))
        return None if score is None else float(score)

    def clearly_better(self, score: float, other: float) -> bool:
        """Whether a score is better by so much that it is not a matter of a few samples."""
        metric = find_metric(self.score)
        return metric is not None and metric.worth(score) - metric.worth(other) > _CLEAR

    def better(self, metrics: Mapping[str, float | int | None], best: Mapping[str, float | int | None]) -> bool:
        """Whether a model with pooled validation `metrics` replaces the one with `best`.

        The score decides, and between equal scores the negative log-likelihood: among models that make the same number
        of errors, the better calibrated one. Without a score a model was not measured.
        """
        ranks = [self._rank(m) for m in (metrics, best)]
        return ranks[0] is not None and (ranks[1] is None or ranks[0] > ranks[1])

    def measured(self, clients: Mapping[str, Sums]) -> dict[str, Measured]:
        """Return what each client with samples adds to the choice of the best model, from its validation sums."""
        return {
            name: Measured(sums.n, self.worth(sums), -sums.nll_sum / sums.n) for name, sums in clients.items() if sums.n
        }

    def improves(self, model: Mapping[str, Measured], former: Mapping[str, Measured]) -> bool | None:
        """Whether a model is better than a former one by what their clients measured; see `best_choice.improves`."""
        return improves(model, former, self.sample)

    def _rank(self, metrics: Mapping[str, float | int | None]) -> tuple[float, float] | None:
        score, nll, metric = metrics.get(self.score), metrics.get("nll"), find_metric(self.score)
        if score is None or metric is None:
            return None
        return metric.worth(score), -(nll or 0.0)


def _keys(metrics: tuple[Metric, ...]) -> tuple[str, ...]:
    return tuple(metric.key for metric in metrics)


def _sampler(settings: Settings) -> tuple[str, str]:
    gp = settings.gp
    prediction = f"{gp.predict_sweeps or gp.sweeps} sweeps of {gp.predict_chains} chains in prediction"
    if settings.objective == "softmax":  # whose training samples nothing
        return "sampler", prediction
    return "sampler", f"{gp.sweeps} sweeps of {gp.train_chains} chains in training, {prediction}"


def _partitioned(settings: Settings) -> str:
    """How the data set is split, and how noisy it is."""
    split = PARTITIONS[settings.partition].summary.format_map(vars(settings))
    return split if settings.noise == "none" else f"{split}, noise of {settings.noise}"


def _noise(settings: Settings) -> tuple[str, str]:
    return "noise", f"variance {settings.gp.noise_variance:g} at first, learned"


CLASSIFICATION = TaskReport(
    task="classification",
    score="accuracy",
    worth=lambda sums: sums.correct / sums.n,
    sample=1.0,
    labels=_partitioned,
    inference=_sampler,
)
REGRESSION = TaskReport(
    task="regression",
    # In units of each client's own deviation, or the clients with the widest targets would choose alone.
    score="standard_rmse",
    worth=lambda sums: -sums.standard_square / sums.n,
    sample=0.0,
    labels=lambda _: "regression",
    inference=_noise,
)
_REPORTS = {report.task: report for report in (CLASSIFICATION, REGRESSION)}


def task_report(task: str) -> TaskReport:
    """Return the report of ``settings.task``."""
    return _REPORTS[task]


def chosen_by_own(settings: Mapping[str, Any]) -> bool:
    """The same of flat settings in a file, also of a version that had no such choice."""
    return task_report(str(settings.get("task", CLASSIFICATION.task))).by_own(str(settings.get("best-classes", "all")))
