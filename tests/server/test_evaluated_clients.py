"""``evaluate-clients``: some clients, drawn by run and round, measure each model; the error is stated; all test it."""

import io
from pathlib import Path

import pytest

from client.client_app import app as client_app
from pfedgp_core.wire.names import CONFIG, EVALUATE, INITIAL, SPLIT, TRAIN
from server.report.console import ConsoleReporter
from server.run.origin import Origin
from tests.fakegrid import FakeGrid
from tests.federation_run import Run, federate, resume, start
from tests.killed import at_message, killed
from tests.uninterrupted import MODES, SETTINGS, same, without_pictures

pytestmark = pytest.mark.slow

SOME = SETTINGS.replace(evaluate_every=1, evaluate_clients=3)
ROUNDS, CLIENTS = SOME.rounds, SOME.clients


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


def measured(grid: FakeGrid, split: str) -> list[int]:
    """The clients that were asked to measure a trained model on a split, once for each time."""
    return [
        grid.index(message.metadata.dst_node_id)
        for message in grid.sent
        if message.metadata.message_type in (TRAIN, EVALUATE)
        and message.content[CONFIG].get(SPLIT) == split
        and INITIAL not in message.content[CONFIG]
    ]


@pytest.fixture(params=MODES.values(), ids=MODES.keys())
def ended(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[FakeGrid, Run]:
    grid = FakeGrid(client_app, CLIENTS, deployed=request.param)
    return grid, start(grid, SOME, tmp_path / "run")


def test_so_many_clients_measure_each_model_and_all_test_the_best(ended: tuple[FakeGrid, Run]) -> None:
    grid, run = ended
    asked = measured(grid, "validation")
    assert len(asked) == 3 * ROUNDS
    assert [(r["evaluated"], r["evaluated_of"]) for r in run.records] == [(3, CLIENTS)] * ROUNDS
    assert sorted(measured(grid, "test")) == list(range(CLIENTS))


def test_others_are_drawn_in_other_rounds(ended: tuple[FakeGrid, Run]) -> None:
    asked = measured(ended[0], "validation")
    assert len({frozenset(asked[i : i + 3]) for i in range(0, len(asked), 3)}) > 1


def test_every_metric_of_a_round_has_its_standard_error(ended: tuple[FakeGrid, Run]) -> None:
    assert all(set(r["standard_errors"]) >= {"accuracy", "ece"} for r in ended[1].records)
    assert any(r["standard_errors"]["accuracy"] > 0 for r in ended[1].records)


def test_the_summary_says_that_the_best_model_was_chosen_on_some_clients(ended: tuple[FakeGrid, Run]) -> None:
    (note,) = [note for note in ended[1].summary["notes"] if "evaluate-clients" in note]
    assert note.startswith(f"validation numbers are of 3 of {CLIENTS} clients, drawn anew each time")
    assert "accuracy has a standard error of " in note


def test_the_console_shows_the_error_beside_the_number(ended: tuple[FakeGrid, Run]) -> None:
    out = io.StringIO()
    reporter = ConsoleReporter(out)
    reporter.start(SOME, CLIENTS, ended[1].path, Origin())
    for record in ended[1].records:
        reporter.round(record)
    assert "validation every 1 on 3 drawn clients" in out.getvalue()
    assert out.getvalue().count(" % +- ") >= ROUNDS


def test_one_exchange_draws_the_clients_of_two(tmp_path: Path) -> None:
    two, one = (federate(SOME, tmp_path / str(deployed), deployed=deployed) for deployed in (False, True))
    names = ("validation_accuracy", "standard_errors", "evaluated", "best")
    assert [[r[name] for name in names] for r in one.records] == [[r[name] for name in names] for r in two.records]


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_killed_run_draws_the_same_clients_when_it_goes_on(deployed: bool, tmp_path: Path) -> None:
    whole = federate(SOME, tmp_path / "whole", deployed=deployed)
    killed(lambda: federate(SOME, tmp_path / "run", at_message(TRAIN, 3), deployed))
    assert same(resume(tmp_path / "run", deployed=deployed), whole)


def test_where_all_are_asked_nothing_is_drawn_and_no_error_stated(tmp_path: Path) -> None:
    run = federate(SOME.replace(evaluate_clients=CLIENTS), tmp_path / "run")
    assert [r["standard_errors"] for r in run.records] == [{}] * ROUNDS
    assert not [note for note in run.summary["notes"] if "evaluate-clients" in note]


def test_one_client_gives_no_error_and_the_run_says_so(tmp_path: Path) -> None:
    settings, out = SOME.replace(evaluate_clients=1), io.StringIO()
    run = federate(settings, tmp_path / "run")
    (note,) = [note for note in run.summary["notes"] if "evaluate-clients" in note]
    assert note.startswith(f"validation numbers are of 1 of {CLIENTS} clients, drawn anew each time")
    assert note.endswith("has a standard error of n/a, as one client says nothing of the others")
    reporter = ConsoleReporter(out)
    reporter.start(settings, CLIENTS, run.path, Origin())
    reporter.round(run.records[0])
    assert " % +- n/a" in out.getvalue()
