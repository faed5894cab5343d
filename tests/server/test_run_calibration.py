"""Calibration of a whole run: calibration.json agrees with all else that the run says; bad sums cost their client."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.likelihood import LIKELIHOOD_GRID
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID
from pfedgp_core.wire.names import CONFIG, ROUND, SPLIT
from server.run.model_file import load_model, save_model
from tests.fakegrid import Tamper
from tests.federation_run import SMALL, Run, federate, resume
from tests.wire_parts import metrics_in, metrics_of

pytestmark = pytest.mark.slow

SETTINGS = SMALL.replace(rounds=2, test_initial=False)
CHOSEN = LIKELIHOOD_GRID[20]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    return federate(SETTINGS, tmp_path_factory.mktemp("calibration") / "run")


@pytest.fixture(scope="module")
def record(run: Run) -> dict:
    return json.loads((run.path / "calibration.json").read_text())


def test_bins_of_the_clients_add_up_to_the_pooled_ones(run: Run, record: dict) -> None:
    pooled = MetricSums.from_dict(record["pooled"])
    clients = [MetricSums.from_dict(sums) for sums in record["clients"].values()]
    assert sorted(record["clients"]) == [f"client-0{i}" for i in range(5)]
    assert [len(record["pooled"][f"bin_{kind}"]) for kind in ("count", "confidence", "correct")] == [15, 15, 15]
    np.testing.assert_array_equal(sum(sums.bin_count for sums in clients), pooled.bin_count)
    np.testing.assert_allclose(sum(sums.bin_confidence for sums in clients), pooled.bin_confidence)
    values = summarise(pooled)
    assert {key: values[key] for key in ("accuracy", "ece", "mce")} == {
        key: run.summary[key] for key in ("accuracy", "ece", "mce")
    }


def test_the_temperature_is_chosen_on_validation_data(run: Run, record: dict) -> None:
    validation, test = (
        {t["temperature"]: summarise(MetricSums.from_dict(t[split])) for t in record["temperatures"]}
        for split in ("validation", "test")
    )
    assert len(validation) == 13
    chosen = min(validation, key=lambda t: validation[t]["ece"])
    assert record["temperature"] == run.summary["temperature"] == chosen
    assert run.summary["ece_at_temperature"] == test[chosen]["ece"]
    assert run.summary["ece"] == pytest.approx(test[1.0]["ece"])
    prudent = record["model_temperature"]
    assert run.summary["model_temperature"] == prudent
    at = MetricSums.from_dict(record["at_model_temperature"])
    assert at.n == run.summary["test_samples"]
    assert run.summary["ece_at_model_temperature"] == summarise(at)["ece"]
    assert run.summary["nll_at_model_temperature"] == summarise(at)["nll"]
    assert record["temperature_rule"] == run.summary["temperature_rule"]
    assert record["temperature_spread"] == run.summary["temperature_spread"]
    assert run.summary["validation_samples"] == MetricSums.from_dict(record["temperatures"][0]["validation"]).n > 0


def too_cautious(request: Message, index: int, reply: Message) -> Message:
    """A tamper by which all validation samples were right at the end, and the less certain the higher the temperature.

    The smallest ECE is then at the sharpest temperature, and the likelihood is largest at `CHOSEN`.
    """
    if request.content[CONFIG].get(SPLIT) == "test":
        with metrics_in(reply) as metrics:
            n = metrics["calibration.validation.n"][0]
            confidences = [{0.1: 0.999, 0.2: 0.95, 0.5: 0.9}.get(t, 0.5) for t in TEMPERATURE_GRID]
            bins = [np.arange(15) == int(15 * confidence) for confidence in confidences]
            counts = (n * np.concatenate(bins)).tolist()
            metrics["calibration.validation.correct"] = [n] * len(bins)
            metrics["calibration.validation.bin_count"] = counts
            metrics["calibration.validation.bin_correct"] = counts
            sums = [n * confidence * its_bin for confidence, its_bin in zip(confidences, bins, strict=True)]
            metrics["calibration.validation.bin_confidence"] = np.concatenate(sums).tolist()
            distances = np.log(LIKELIHOOD_GRID) - np.log(CHOSEN)
            metrics["evidence.validation.values"] = (-2 * n * distances**2).tolist()
            metrics["evidence.left_out.values"], metrics["evidence.left_out.n"] = [0.0] * 60, 0
    return reply


def only_the_first_round_is_right(request: Message, index: int, reply: Message) -> Message:
    """A tamper by which all validation samples are right in round 1, and wrong in the others."""
    if request.content[CONFIG].get(SPLIT) == "validation":
        with metrics_in(reply) as metrics:
            right = request.content[CONFIG][ROUND] == 1
            metrics["sums.correct"] = metrics["sums.n"] * right
            metrics["sums.bin_correct"] = [count * right for count in metrics["sums.bin_count"]]
    return reply


def test_the_models_that_it_was_chosen_for_carry_it(tmp_path: Path) -> None:
    run = federate(SETTINGS, tmp_path / "run", too_cautious)
    assert run.summary["best_round"] == load_model(run.path / "final")[1]["round"]
    assert run.summary["temperature"] == 0.1
    assert run.summary["model_temperature"] == CHOSEN
    for which in ("best", "final"):
        for meta in (load_model(run.path / which)[1], json.loads((run.path / which / "meta.json").read_text())):
            assert meta["temperature"] == CHOSEN
            assert meta["temperature_spread"] == run.summary["temperature_spread"] < 1
            assert meta["temperature_rule"] == run.summary["temperature_rule"] == "validation data of 5 clients"


def test_a_last_model_that_is_another_carries_none(tmp_path: Path) -> None:
    """Nothing is known about it."""
    run = federate(SETTINGS.replace(evaluate_every=1), tmp_path / "run", only_the_first_round_is_right)
    assert run.summary["best_round"] == 1
    assert load_model(run.path / "best")[1]["temperature"] == run.summary["model_temperature"]
    assert "temperature" not in load_model(run.path / "final")[1]


def test_a_run_that_gets_more_rounds_gives_its_best_model_the_new_temperature(run: Run, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(run.path, out)
    vector, meta = load_model(out / "best")
    save_model(out / "best", vector, meta | {"temperature": 77.0})
    longer = resume(out, rounds=4)
    assert longer.summary["model_temperature"] != 77.0
    assert load_model(out / "best")[1]["temperature"] == longer.summary["model_temperature"]


def test_confusion_covers_every_test_sample_and_every_error(run: Run, record: dict) -> None:
    counts = record["confusion"]
    assert sum(n for _, _, n in counts) == run.summary["test_samples"]
    correct = sum(n for true, predicted, n in counts if true == predicted)
    assert correct / run.summary["test_samples"] == pytest.approx(run.summary["accuracy"])
    assert len(record["class_names"]) == 10


def changed(key: str, change) -> Tamper:
    """A tamper of client 1's calibration in its final evaluation."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if index == 1 and request.content[CONFIG].get(SPLIT) == "test":
            with metrics_in(reply) as metrics:
                metrics[f"calibration.{key}"] = change(metrics[f"calibration.{key}"])
        return reply

    return tamper


@pytest.mark.parametrize(
    ("key", "change", "reason"),
    [
        ("test.n", lambda v: v[:-1], "not calibration sums"),
        ("confusion.true", lambda v: [99 for _ in v], "confusion|do not fit"),
        ("confusion.count", lambda v: [n + 1 for n in v], "different test samples"),
    ],
)
def test_sums_that_cannot_be_are_refused_and_named(key: str, change, reason: str, tmp_path: Path) -> None:
    run = federate(SETTINGS, tmp_path / "run", changed(key, change))
    assert list(run.summary["missing_clients"]) == ["client-01"]
    assert re.search(reason, run.summary["missing_clients"]["client-01"])
    assert "client-01" not in json.loads((run.path / "calibration.json").read_text())["clients"]


def test_only_the_final_evaluation_asks_for_them(tmp_path: Path) -> None:
    seen: dict[str, set[bool]] = {}

    def watch(request: Message, index: int, reply: Message) -> Message:
        split = request.content[CONFIG].get(SPLIT)
        if request.metadata.message_type == "evaluate":
            has = any(key.startswith("calibration.") for key in metrics_of(reply))
            seen.setdefault(split, set()).add(has)
        return reply

    federate(SETTINGS, tmp_path / "run", watch)
    assert seen == {"validation": {False}, "test": {True}}
