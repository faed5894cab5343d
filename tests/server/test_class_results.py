"""Numbers by class and by site in a run's files are those of scikit-learn on the predictions that the sites made."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message
from scipy.stats import binomtest
from sklearn.metrics import accuracy_score, balanced_accuracy_score, recall_score, roc_auc_score

from pfedgp_core.metrics import classification
from pfedgp_core.metrics.class_scores import score_bins
from pfedgp_core.metrics.classification import metric_sums
from pfedgp_core.metrics.nll import NLL
from pfedgp_core.wire.names import CONFIG, SPLIT
from server.result_intervals import LEAST_SITES, over_sites
from tests.federation_run import SMALL, Run, federate
from tests.wire_parts import metrics_in

pytestmark = pytest.mark.slow

METRICS = ("sensitivity", "specificity", "ppv", "npv", "f1", "auroc", "auprc")


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, list]:
    """A run, and what the classifiers of its sites said in the final test: probabilities, classes, labels."""
    from flwr.supercore.task_identity import TaskIdentity

    from pfedgp_core.heads import classification as head

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    said, genuine = [], head.score_counts

    def noted(p: np.ndarray, classes: np.ndarray, labels: np.ndarray):
        said.append((p, classes, labels))
        return genuine(p, classes, labels)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(head, "score_counts", noted)
        run = federate(SMALL.replace(rounds=2), tmp_path_factory.mktemp("classes") / "run")
    return run, said


def test_the_pooled_numbers_of_each_class_are_those_of_the_predictions(seen: tuple[Run, list]) -> None:
    run, said = seen
    for row in run.summary["classes"]:
        c = int(row["class"])
        mine = [each for each in said if c in each[1] or c in each[2]]
        truth = np.concatenate([labels == c for _, _, labels in mine])
        predicted = np.concatenate([classes[p.argmax(axis=1)] == c for p, classes, _ in mine])
        scores = np.concatenate([p[:, list(classes).index(c)] for p, classes, _ in mine])
        assert (row["sites"], row["samples"], row["positives"]) == (len(mine), len(truth), truth.sum())
        assert row["sensitivity"] == pytest.approx(recall_score(truth, predicted))
        assert row["specificity"] == pytest.approx(recall_score(~truth, ~predicted))
        assert row["auroc"] == pytest.approx(roc_auc_score(truth, score_bins(scores)))
        wilson = binomtest(int((truth & predicted).sum()), int(truth.sum())).proportion_ci(method="wilson")
        assert (row["sensitivity_low"], row["sensitivity_high"]) == pytest.approx((wilson.low, wilson.high), abs=1e-9)


def test_the_table_of_sites_and_classes_adds_up(seen: tuple[Run, list]) -> None:
    run, said = seen
    with (run.path / "classes.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:5] == ["site", "class", "samples", "positives", "sites"]
    assert set(METRICS) <= set(rows[0])
    assert sum(int(row["positives"]) for row in rows) == run.summary["test_samples"]
    assert len(rows) == sum(len({*classes.tolist(), *labels.tolist()}) for _, classes, labels in said)


def test_each_site_has_its_balanced_accuracy_and_an_interval(seen: tuple[Run, list]) -> None:
    run, said = seen
    with (run.path / "clients.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    sites = {
        tuple(sorted(map(str, {*classes.tolist(), *labels.tolist()}))): (classes[p.argmax(axis=1)], labels)
        for p, classes, labels in said
    }
    compared = 0
    for row in rows:
        predicted, labels = sites[tuple(sorted(row["classes"].split(";")))]
        compared += 1
        assert float(row["balanced_accuracy"]) == pytest.approx(balanced_accuracy_score(labels, predicted))
        assert float(row["accuracy"]) == pytest.approx(accuracy_score(labels, predicted))
        assert float(row["accuracy_low"]) <= float(row["accuracy"]) <= float(row["accuracy_high"])
    assert compared == len(said) == 5


def test_the_summary_has_an_interval_for_each_number(seen: tuple[Run, list]) -> None:
    summary = seen[0].summary
    intervals = summary["intervals"]
    assert {key for key, each in intervals.items() if each["over"] == "samples"} == {
        "accuracy",
        "own_accuracy",
        "mean_accuracy",
    }
    drawn = {"nll", "ece", "brier", "own_nll", "own_ece", "ece_at_model_temperature", "nll_at_model_temperature"}
    assert drawn <= set(intervals)
    n = summary["test_samples"]
    wilson = binomtest(round(summary["accuracy"] * n), n).proportion_ci(method="wilson")
    assert (intervals["accuracy"]["low"], intervals["accuracy"]["high"]) == pytest.approx((wilson.low, wilson.high))
    for key in drawn:
        assert intervals[key]["low"] <= intervals[key]["high"]


def lost_scores(request: Message, index: int, reply: Message) -> Message:
    """A tamper: a site sends the counts of another sample's score."""
    if request.content[CONFIG].get(SPLIT) == "test" and index == 1:
        with metrics_in(reply) as metrics:
            metrics["calibration.scores.positives"] = [n + 1 for n in metrics["calibration.scores.positives"]]
    return reply


def test_scores_that_contradict_the_confusion_cost_their_site_the_test(tmp_path: Path) -> None:
    run = federate(SMALL.replace(rounds=1, test_initial=False), tmp_path / "run", tamper=lost_scores)
    (reason,) = run.summary["missing_clients"].values()
    assert "cover different test samples" in reason


def test_too_few_sites_have_no_interval_over_sites() -> None:
    parts = [metric_sums([[0.9, 0.1]] * 3, [0, 0, i % 2]) for i in range(LEAST_SITES)]
    nothing = classification.MetricSums.zero()
    assert over_sites({"nll": NLL.value}, parts[1:], nothing, 0) == {}
    assert set(over_sites({"nll": NLL.value}, parts, nothing, 0)) == {"nll"}


def test_nine_of_ten_intervals_over_sites_hold_the_mean_of_all_sites() -> None:
    # 30 sites drawn from a population; percentile bootstrap is a little narrow with few sites.
    rng, held, runs = np.random.default_rng(3), 0, 60
    truth = 1.0
    for run in range(runs):
        parts = [classification.MetricSums(n=10, nll_sum=10 * float(x)) for x in rng.gamma(4, 0.25, 30)]
        found = over_sites({"nll": NLL.value}, parts, classification.MetricSums.zero(), run)["nll"]
        held += found.low <= truth <= found.high
    assert held >= 0.85 * runs


def test_the_summary_is_json_without_nan(seen: tuple[Run, list]) -> None:
    assert "NaN" not in (seen[0].path / "summary.json").read_text()
    assert json.loads((seen[0].path / "summary.json").read_text())["balanced_accuracy"] is not None
