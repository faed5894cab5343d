"""Metrics as values: what the registry says of each, and what follows from it."""

import numpy as np
import pytest

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.regression import RegressionSums, regression_sums
from pfedgp_core.metrics.summary import Sums, find_metric, metrics_of, summarise, sums_of
from pfedgp_core.metrics.task_report import CLASSIFICATION, REGRESSION, TaskReport, task_report
from pfedgp_core.registry import METRICS

SUMS: dict[str, Sums] = {
    "classification": metric_sums([[0.8, 0.2], [0.4, 0.6]] * 10, [0, 0] * 10),
    "regression": regression_sums([1.0, 2.0], [1.0, 1.0], [1.5, 2.5], 0.0, 2.0),
}
IN_TASKS = [(key, task) for key in METRICS for task in METRICS[key].load().tasks]


@pytest.mark.parametrize("key", METRICS)
def test_an_entry_is_the_metric_of_its_key(key: str) -> None:
    assert METRICS[key].load().key == key


@pytest.mark.parametrize("key", METRICS)
def test_a_metric_is_shown_somewhere(key: str) -> None:
    assert METRICS[key].load().shown


@pytest.mark.parametrize(("key", "task"), IN_TASKS)
def test_a_metric_is_a_number_of_the_sums_of_its_task(key: str, task: str) -> None:
    assert isinstance(METRICS[key].load().value(SUMS[task]), float)


@pytest.mark.parametrize(("key", "task"), IN_TASKS)
def test_a_metric_of_no_sample_is_none(key: str, task: str) -> None:
    assert METRICS[key].load().value(sums_of(task)()) is None


@pytest.mark.parametrize(("key", "task"), IN_TASKS)
def test_a_metric_leaves_the_sums_as_they_were(key: str, task: str) -> None:
    before = SUMS[task].to_dict()
    METRICS[key].load().value(SUMS[task])
    assert SUMS[task].to_dict() == before


@pytest.mark.parametrize(("task", "kind"), [("classification", MetricSums), ("regression", RegressionSums)])
def test_a_task_has_its_sums(task: str, kind: type) -> None:
    assert sums_of(task) is kind


@pytest.mark.parametrize("task", SUMS)
def test_the_summary_holds_every_metric_of_the_task(task: str) -> None:
    assert list(summarise(SUMS[task])) == [*(metric.key for metric in metrics_of(task)), "n"]


def test_a_key_that_is_no_metric_has_none() -> None:
    assert find_metric("seconds") is None


def metric(better: str, share: bool = False) -> Metric:
    return Metric("x", "X", lambda sums: 0.5, ("classification",), better, ("pooled",), share)  # type: ignore[arg-type]


@pytest.mark.parametrize(("better", "worth"), [("higher", 2.0), ("lower", -2.0), ("neither", 0.0)])
def test_a_better_value_is_worth_more(better: str, worth: float) -> None:
    assert metric(better).worth(2.0) == worth


@pytest.mark.parametrize(("share", "text"), [(True, "12.3 %"), (False, "0.123")])
def test_a_share_reads_as_a_percentage(share: bool, text: str) -> None:
    assert metric("higher", share).text(0.1234) == text


@pytest.mark.parametrize("report", [CLASSIFICATION, REGRESSION])
def test_the_score_is_a_metric_of_validation(report: TaskReport) -> None:
    assert report.score in report.validation


@pytest.mark.parametrize(("task", "report"), [("classification", CLASSIFICATION), ("regression", REGRESSION)])
def test_a_task_has_its_report(task: str, report: TaskReport) -> None:
    assert task_report(task) is report


def test_columns_of_classification() -> None:
    assert CLASSIFICATION.client == ("accuracy", "nll", "ece", "brier")


def test_columns_of_regression() -> None:
    assert REGRESSION.client == ("rmse", "nll", "coverage", "r2")


def test_the_summary_of_regression_names_what_is_to_beat() -> None:
    assert {"baseline_rmse", "baseline_r2"} <= set(REGRESSION.pooled)


SCORES = [
    ({"accuracy": 0.9}, {"accuracy": 0.8}, True),
    ({"accuracy": 0.8}, {"accuracy": 0.9}, False),
    ({"accuracy": 0.9, "nll": 0.1}, {"accuracy": 0.9, "nll": 0.2}, True),
    ({"accuracy": 0.9, "nll": 0.2}, {"accuracy": 0.9, "nll": 0.1}, False),
    ({"accuracy": 0.0}, {}, True),
    ({}, {"accuracy": 0.0}, False),
    ({}, {}, False),
]


@pytest.mark.parametrize(("metrics", "best", "better"), SCORES)
def test_the_best_model(metrics: dict[str, float], best: dict[str, float], better: bool) -> None:
    assert CLASSIFICATION.better(metrics, best) is better


@pytest.mark.parametrize(("error", "better"), [(0.4, True), (0.6, False)])
def test_the_best_regression_has_the_smallest_error(error: float, better: bool) -> None:
    assert REGRESSION.better({"standard_rmse": error}, {"standard_rmse": 0.5}) is better


def test_pooling_is_adding() -> None:
    one, other = metric_sums([[0.8, 0.2]], [0]), metric_sums([[0.4, 0.6]], [0])
    assert summarise(one + other)["accuracy"] == np.mean([1.0, 0.0])
