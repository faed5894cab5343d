"""Results over all classes and over each client's own: in files always, for people where the two differ."""

import csv
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from server.report.wording import telling
from tests.federation_run import SMALL, federate

KEYS = ("accuracy", "nll", "ece", "brier")
FINE = KEYS[1:]  # a restriction moves these even where it turns no error into a hit


@dataclass
class Told:
    """A run and what the console said about it."""

    path: Path
    console: str

    @property
    def summary(self) -> dict[str, float]:
        return dict(json.loads((self.path / "summary.json").read_text()))

    @property
    def rows(self) -> list[dict[str, str]]:
        with (self.path / "clients.csv").open(newline="") as file:
            return list(csv.DictReader(file))

    @property
    def page(self) -> str:
        return (self.path / "report.html").read_text()


@pytest.fixture(scope="module", params=["own", "all"])
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    """A run whose trees hold each client's own classes, or all of the federation."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    settings = SMALL.replace(rounds=1, variant="ip-data", inducing_per_class=5, classes=request.param)
    printed = io.StringIO()
    with redirect_stdout(printed):
        run = federate(settings, tmp_path_factory.mktemp(request.param) / "run")
    return Told(run.path, printed.getvalue())


@pytest.fixture
def differs(told: Told, request: pytest.FixtureRequest) -> bool:
    """Whether the trees hold more than the own classes."""
    return bool(request.node.callspec.params["told"] == "all")


@pytest.mark.parametrize("key", KEYS)
def test_the_summary_has_both(told: Told, key: str) -> None:
    assert {key, f"own_{key}"} <= set(told.summary)


@pytest.mark.parametrize("key", FINE)
def test_both_of_the_summary_are_equal_where_there_are_no_other_classes(told: Told, differs: bool, key: str) -> None:
    assert (told.summary[f"own_{key}"] != told.summary[key]) is differs


@pytest.mark.parametrize("key", KEYS)
def test_every_client_has_both(told: Told, key: str) -> None:
    assert all({key, f"own_{key}"} <= set(row) for row in told.rows)


@pytest.mark.parametrize("key", FINE)
def test_both_of_a_client_are_equal_where_there_are_no_other_classes(told: Told, differs: bool, key: str) -> None:
    assert any(row[f"own_{key}"] != row[key] for row in told.rows) is differs


def test_fewer_classes_to_choose_from_give_no_more_errors(told: Told) -> None:
    """The split gives every client the same classes for training and test."""
    assert told.summary["own_accuracy"] >= told.summary["accuracy"]


def test_the_console_tells_them_apart(told: Told, differs: bool) -> None:
    assert ("over each client's own classes: accuracy" in told.console) is differs


def test_the_consoles_table_tells_them_apart(told: Told, differs: bool) -> None:
    (heads,) = [line for line in told.console.splitlines() if line.startswith("client ")]
    assert ("own_accuracy  own_nll  own_ece  own_brier" in " ".join(heads.split()).replace(" ", "  ")) is differs


def test_the_pages_table_tells_them_apart(told: Told, differs: bool) -> None:
    assert ('<button type="button">own-class accuracy</button>' in told.page) is differs


def test_the_pages_results_tell_them_apart(told: Told, differs: bool) -> None:
    assert ('<th scope="row">Own-class accuracy</th>' in told.page) is differs


def test_the_page_says_where_there_are_no_other_classes(told: Told, differs: bool) -> None:
    assert ("among no others" in told.page) is not differs


def test_one_client_that_differs_is_enough() -> None:
    rows = [{"name": "a", "ece": 0.1, "own_ece": 0.1}, {"name": "b", "ece": 0.1, "own_ece": 0.2}]
    assert telling(rows) == ["name", "ece", "own_ece"]


def test_equal_columns_are_told_once() -> None:
    assert telling([{"name": "a", "ece": 0.1, "own_ece": 0.1}]) == ["name", "ece"]


def test_no_row_tells_nothing() -> None:
    assert telling([]) == []
