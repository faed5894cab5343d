"""Means, standard errors and differences, and what is told where there are none."""

import math
from pathlib import Path
from typing import Any

import pytest

from pfedgp.experiments.cells import Cell, select
from pfedgp.experiments.estimates import Entry, Estimate, entries
from tests.small_experiment import made_up, small_experiment

ACCURACY = {0: 0.90, 1: 0.92}


def found(folder: Path, **results: Any) -> dict[tuple[str, str], Entry]:
    def result(cell: Cell) -> dict[str, Any] | None:
        if cell.row != "full":
            return None
        return results.get(f"seed{cell.seed}", made_up(cell, ACCURACY[cell.seed]))

    experiment = small_experiment(folder)
    return entries(experiment, select(experiment).cells(experiment), result)


def test_the_standard_error_is_the_deviation_over_the_root_of_the_seeds() -> None:
    values = [0.2, 0.5, 0.9, 0.4]
    estimate = Estimate.of(values)
    assert estimate is not None
    mean = sum(values) / 4
    assert estimate.mean == pytest.approx(mean)
    assert estimate.error == pytest.approx(math.sqrt(sum((v - mean) ** 2 for v in values) / 3 / 4))


def test_one_seed_has_no_standard_error() -> None:
    assert Estimate.of([0.5, None]) == Estimate(0.5, None)
    assert Estimate.of([None]) is None


def test_the_difference_is_ours_minus_the_papers(tmp_path: Path) -> None:
    entry = found(tmp_path)["full", "two"]
    assert entry.ours is not None
    assert entry.ours.mean == pytest.approx(91.0)
    difference = entry.difference
    assert difference is not None
    assert difference.mean == pytest.approx(1.0)
    assert difference.error == pytest.approx(math.hypot(1.0, 0.3))  # of two seeds, and the paper's


def test_a_difference_to_a_number_without_error_has_none(tmp_path: Path) -> None:
    difference = found(tmp_path)["full", "five"].difference
    assert difference is not None
    assert (difference.mean, difference.error) == (pytest.approx(11.0), None)


def test_a_cell_that_was_not_run_says_so(tmp_path: Path) -> None:
    entry = found(tmp_path)["fedavg", "two"]
    assert (entry.state, entry.ours, entry.cost("gradients")) == ("not run", None, None)


def test_missing_seeds_and_failures_are_told(tmp_path: Path) -> None:
    failed = {"status": "failed", "reason": "no space"}
    one = found(tmp_path, seed1=failed)["full", "two"]
    assert (one.seeds, one.state) == ((0,), "1 of 2 seeds")
    assert found(tmp_path, seed0=failed, seed1=failed)["full", "two"].state == "failed: no space"


def test_bytes_are_those_of_both_ways(tmp_path: Path) -> None:
    assert found(tmp_path)["full", "two"].cost("bytes") == 1000
