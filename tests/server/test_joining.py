"""``test-initial``: what joining gives each client stands in the run's table, and nothing else changes."""

import csv
from pathlib import Path
from typing import Any

import pytest

from tests.federation_run import SMALL, Run, federate, start
from tests.own_sites import OWN, OwnGrid, three_image_sites
from tests.server.test_evaluation import evaluate

NEW = {"initial_accuracy", "accuracy_gain", "accuracy_gain_low", "accuracy_gain_high"}


def rows_in(run: Run) -> list[dict[str, Any]]:
    return list(csv.DictReader((run.path / "clients.csv").open()))


def test_the_table_has_the_gains_that_evaluate_finds(tmp_path: Path) -> None:
    sites = three_image_sites(tmp_path)
    run = start(OwnGrid(sites), OWN.replace(test_initial=True), tmp_path / "run")
    found = evaluate(OwnGrid(sites), run.path / "best", tmp_path / "out", least=1)
    gains = {row["name"]: row["gain"] for row in found["sites"]}
    for row in rows_in(run):
        assert float(row["accuracy_gain"]) == pytest.approx(gains[row["name"]]["value"], abs=1e-6)
        assert float(row["accuracy_gain_low"]) == pytest.approx(gains[row["name"]]["low"], abs=1e-6)
        assert float(row["initial_accuracy"]) == pytest.approx(float(row["accuracy"]) - float(row["accuracy_gain"]))
    assert run.summary["initial"]["mean_gain"]["value"] == pytest.approx(found["mean"]["gain"]["value"])
    assert "accuracy gain" in (run.path / "report.html").read_text()


def test_all_else_stays_to_the_bit(tmp_path: Path) -> None:
    plain = federate(SMALL, tmp_path / "plain")
    asked = federate(SMALL.replace(test_initial=True), tmp_path / "asked")
    assert asked.lasting == plain.lasting
    assert asked.model("best").tobytes() == plain.model("best").tobytes()
    without = [{key: value for key, value in row.items() if key not in NEW} for row in rows_in(asked)]
    assert without == rows_in(plain)
    assert rows_in(asked)[0].keys() >= NEW
    note = next(note for note in asked.summary["notes"] if note.startswith("what joining gives"))
    assert "mean over 5 clients" in note


def test_a_method_that_says_nothing_untrained_has_no_gain(tmp_path: Path) -> None:
    run = federate(SMALL.replace(test_initial=True, method="fedavg", rounds=1), tmp_path / "run")
    assert "initial" not in run.summary
    assert rows_in(run)[0].keys().isdisjoint(NEW)
