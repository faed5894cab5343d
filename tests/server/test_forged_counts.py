"""A client that claims 10^8 samples: it weighs as three median clients everywhere, and is named."""

import json
import re
from pathlib import Path

import pytest

from pfedgp_core.metrics.classification import MetricSums
from server.report.html.writer import write_report
from server.weights import bounded, doubtful_claims, weight_notes
from tests.federation_run import SMALL, Run, federate
from tests.forged_claims import CLAIM, claims

pytestmark = pytest.mark.slow

LIAR = "client-01"
SETTINGS = SMALL.replace(rounds=3, evaluate_every=1)


@pytest.fixture(scope="module", params=[False, True], ids=["simulation", "deployment"])
def forged(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """With the engine of a deployment the evaluations ride in train requests."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    out = tmp_path_factory.mktemp("forged") / "run"
    return federate(SETTINGS, out, claims(1), deployed=request.param)


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Run:
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    return federate(SETTINGS, tmp_path_factory.mktemp("honest") / "run")


def others(run: Run) -> list[MetricSums]:
    """Test sums of the honest clients."""
    clients = json.loads((run.path / "calibration.json").read_text())["clients"]
    return [MetricSums.from_dict(sums) for name, sums in clients.items() if name != LIAR]


def weight(run: Run) -> int:
    """Three times the lower median of all five counts; the liar's is the largest."""
    return 3 * sorted(sums.n for sums in others(run))[2]


def test_the_pooled_accuracy_is_that_of_the_others_and_three_median_clients(forged: Run) -> None:
    right, n = sum(s.correct for s in others(forged)), sum(s.n for s in others(forged))
    expected = (right + weight(forged)) / (n + weight(forged))
    assert forged.summary["accuracy"] == pytest.approx(expected)


def test_the_mean_over_clients_gives_the_liar_one_part_of_five(forged: Run) -> None:
    accuracies = [s.correct / s.n for s in others(forged)]
    assert forged.summary["mean_accuracy"] == pytest.approx((sum(accuracies) + 1) / 5)


def test_the_summary_names_the_claim_and_how_it_counts(forged: Run) -> None:
    assert forged.summary["bounded_clients"] == {LIAR: {"claimed": CLAIM, "counted": weight(forged)}}
    notes = " | ".join(forged.summary["notes"])
    for split in ("validation", "test"):
        assert f"in the pooled {split} numbers no client weighs more than 3 median clients: {LIAR} with" in notes
        assert re.search(rf"{LIAR} claims 100,000,000 of all 100,000,\d+ {split} samples, [\d,]+ times", notes)


def test_the_temperatures_are_chosen_with_the_same_bound(forged: Run) -> None:
    record = json.loads((forged.path / "calibration.json").read_text())
    samples = {at["validation"]["n"] for at in record["temperatures"]}
    assert samples == {forged.summary["validation_samples"]}
    assert forged.summary["validation_samples"] < 10 * weight(forged)
    assert {at["test"]["n"] for at in record["temperatures"]} == {sum(s.n for s in others(forged)) + weight(forged)}
    assert sum(row[2] for row in record["confusion"]) == record["pooled"]["n"]


def test_validation_in_every_round_has_the_bound(forged: Run, honest: Run) -> None:
    for record, plain in zip(forged.records, honest.records, strict=True):
        # Of the liar's samples all are right, so that all of its weight is what it adds; unbounded it would be 1.
        assert record["validation_accuracy"] < 1
        assert record["validation_accuracy"] >= plain["validation_accuracy"] * 0.5


def test_the_report_says_so(forged: Run) -> None:
    page = write_report(forged.path).read_text()
    assert "Mean client accuracy" in page
    assert f"{LIAR} claims 100,000,000 of all" in page


def test_the_claim_is_named_before_round_1_and_on_the_last_lines(
    caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    run = federate(SMALL.replace(rounds=1), tmp_path / "run", claims(1))
    assert f"{LIAR} claims 100,000,000 of all" in caplog.text.split("round 1")[0]
    last = capsys.readouterr().out.split("federated")[-1]
    assert f"mean over clients: accuracy {100 * run.summary['mean_accuracy']:.1f} %" in last
    assert f"{LIAR} claims 100,000,000 of all" in last


def test_an_honest_run_says_nothing_and_counts_every_sample(honest: Run) -> None:
    assert honest.summary["bounded_clients"] == {}
    assert honest.summary["notes"] == []
    record = json.loads((honest.path / "calibration.json").read_text())
    whole = sum(map(MetricSums.from_dict, record["clients"].values()), MetricSums())
    assert whole == MetricSums.from_dict(record["pooled"])


def test_a_hospital_beside_small_wards_is_bounded_and_believed() -> None:
    claimed = {"hospital": 5000, "a": 200, "b": 190, "c": 210, "d": 200}
    assert bounded(claimed) == {"hospital": {"claimed": 5000, "counted": 600}}
    (note,) = weight_notes("test", claimed)
    assert note.endswith("no client weighs more than 3 median clients: hospital with 600 of its 5,000 samples")
    assert doubtful_claims("test", claimed) == []


def test_many_bounded_clients_are_a_short_note() -> None:
    claimed = {f"client-{i:03}": 1 for i in range(300)} | {f"large-{i:03}": 40 for i in range(200)}
    (note,) = weight_notes("test", claimed)
    assert note.endswith("and 197 more")
    assert len(note) < 300
