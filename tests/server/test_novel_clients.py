"""Novel clients: never trained, never validated, tested at the end and reported apart."""

import csv
from pathlib import Path

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.data.simulated import simulated_partition
from tests.federation_run import SMALL, Run, federate

pytestmark = pytest.mark.slow

NOVEL = {"client-03", "client-04"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run of five clients, two of them novel."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    return federate(SMALL.replace(novel_clients=2, clients_per_round=2, rounds=4), tmp_path_factory.mktemp("n") / "run")


@pytest.fixture
def rows(run: Run) -> dict[str, dict[str, str]]:
    with (run.path / "clients.csv").open(encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def test_they_are_never_drawn(run: Run) -> None:
    drawn = {name for record in run.records for name in record["sampled"]}
    assert drawn == {"client-00", "client-01", "client-02"}


def test_they_have_no_part_in_the_choice_of_the_model(run: Run) -> None:
    assert {record["evaluated_of"] for record in run.records} == {0, 3}


def test_they_have_no_part_in_the_choice_of_the_temperature(run: Run) -> None:
    partition = simulated_partition(Settings(clients=5))
    assert run.summary["validation_samples"] == sum(partition.sizes("validation")[:3])


def test_they_are_tested(rows: dict[str, dict[str, str]]) -> None:
    assert all(float(rows[name]["accuracy"]) > 0 for name in NOVEL)


@pytest.mark.parametrize(("group", "names"), [("novel", NOVEL), ("training", {"client-00", "client-01", "client-02"})])
def test_means_of_a_group(run: Run, rows: dict[str, dict[str, str]], group: str, names: set[str]) -> None:
    accuracies = [float(rows[name]["accuracy"]) for name in names]
    assert run.summary["groups"][group]["mean_accuracy"] == pytest.approx(sum(accuracies) / len(names), abs=1e-6)


@pytest.mark.parametrize(("group", "names"), [("novel", NOVEL), ("training", {"client-00", "client-01", "client-02"})])
def test_pooled_numbers_of_a_group(run: Run, rows: dict[str, dict[str, str]], group: str, names: set[str]) -> None:
    counts = {name: int(rows[name]["n_test"]) for name in names}
    correct = sum(float(rows[name]["accuracy"]) * counts[name] for name in names)
    assert run.summary["groups"][group]["accuracy"] == pytest.approx(correct / sum(counts.values()), abs=1e-6)


@pytest.mark.parametrize("key", ["accuracy", "mean_accuracy", "nll"])
def test_the_gap_is_novel_minus_training(run: Run, key: str) -> None:
    groups = run.summary["groups"]
    assert groups["gap"][key] == pytest.approx(groups["novel"][key] - groups["training"][key])


def test_a_note_says_it_in_words(run: Run) -> None:
    (note,) = [note for note in run.summary["notes"] if "novel" in note]
    mean = run.summary["groups"]["novel"]["mean_accuracy"]
    assert f"{100 * mean:.1f} % as a mean; 3 clients that could train: accuracy" in note


def test_without_them_there_are_no_groups(tmp_path: Path) -> None:
    assert "groups" not in federate(SMALL.replace(rounds=1), tmp_path / "run").summary
