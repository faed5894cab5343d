"""Metrics over clients: other sizes pass, the metric of a mean is not the mean of the metrics."""

import numpy as np
import pytest

from pfedgp.verification.topics import metrics
from pfedgp_core.metrics.classification import metric_sums
from tests.pfedgp.verification.baseline_oracle import TOLERANCES, plain
from tests.pfedgp.verification.golden_runs import failures, results

COUNTS, CLASSES, BINS, TEMPERATURE = (40, 7, 23, 1), 4, 12, 1.7


def ece(p, y):
    confidence, right = p.max(axis=1), p.argmax(axis=1) == y
    bins = np.ceil(confidence * BINS)
    gaps = [abs((confidence[bins == b] - right[bins == b]).sum()) for b in set(bins)]
    return sum(gaps) / len(y)


def measured(p, y):
    truth = np.eye(CLASSES)[y]
    return {
        "accuracy": (p.argmax(axis=1) == y).mean(),
        "ece": ece(p, y),
        "brier": ((p - truth) ** 2).sum(axis=1).mean(),
        "nll": -np.log((p * truth).sum(axis=1)).mean(),
    }


def made_case():
    rng = np.random.default_rng(5)
    parts = [(rng.dirichlet([0.5] * CLASSES, n), rng.integers(0, CLASSES, n)) for n in COUNTS]
    p, y = (np.concatenate(each) for each in zip(*parts, strict=True))
    tempered = p ** (1 / TEMPERATURE)
    values = {f"pooled_{key}": value for key, value in measured(p, y).items()}
    values |= {f"tempered_{k}": v for k, v in measured(tempered / tempered.sum(axis=1, keepdims=True), y).items()}
    values["mean_of_client_accuracies"] = np.mean([measured(*part)["accuracy"] for part in parts])
    values["mean_of_client_eces"] = np.mean([measured(*part)["ece"] for part in parts])
    seeds = [71.0, 70.5, 73.25, 72.0, 70.0]
    values["mean_over_seeds"] = sum(seeds) / 5
    values["sem_over_seeds"] = np.sqrt(sum((s - sum(seeds) / 5) ** 2 for s in seeds) / 4 / 5)
    clients = [{"name": f"c{i}", "probabilities": a, "labels": b} for i, (a, b) in enumerate(parts)]
    inputs = {"clients": clients, "bins": BINS, "temperature": TEMPERATURE, "accuracies_of_seeds": seeds}
    asserts = [{"name": name, "value": value, **TOLERANCES} for name, value in values.items()]
    return plain({"id": "made", "topic": "metrics", "inputs": inputs, "asserts": asserts})


CASE = made_case()


def test_other_sizes_pass():
    assert failures([CASE]) == []


def test_mean_over_clients_is_not_the_pooled_accuracy():
    wanted = {check["name"]: check for check in CASE["asserts"]}
    swapped = wanted["mean_of_client_accuracies"] | {"name": "pooled_accuracy"}
    assert len(failures([CASE | {"asserts": [swapped]}])) == 2


def test_another_temperature_breaks_a_value():
    assert failures([CASE | {"inputs": CASE["inputs"] | {"temperature": 2.0}}])


def test_other_bins_break_a_value(monkeypatch):
    monkeypatch.setattr(metrics, "metric_sums", lambda p, y, bins: metric_sums(p, y, 15))
    assert failures([CASE])


@pytest.mark.parametrize("name", ["pooled_colour", "tempered_colour", "mean_of_client_colours"])
def test_unknown_metric_is_not_understood(name):
    case = CASE | {"asserts": [CASE["asserts"][0] | {"name": name}]}
    assert [r.understood for r in results([case])] == [False, False]
