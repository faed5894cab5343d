"""Rows at equal costs: the budget that all have reached, the values there, the table and the figure."""

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from pfedgp.experiments.budgets import Curve, at_budget, budgets_page, column_curves, common_budget
from pfedgp.experiments.cells import Cell, select
from pfedgp.experiments.curves_figure import curves_figure
from tests.small_experiment import TEXT, made_up, small_experiment

CURVES = f"curves = true\n{TEXT}"


def points(factor: float, last: int = 30, **measures: float) -> list[dict[str, Any]]:
    """Evaluations after rounds 10, 20, ..., that cost `factor` CPU seconds and 100 bytes a round."""
    common = {"nll": 0.5} | measures
    return [
        {"round": t, "gradients": t, "bytes": 100.0 * t, "cpu": factor * t, "accuracy": t / 100, **common}
        for t in range(10, last + 1, 10)
    ]


def curve(row: str, factor: float, last: int = 30, **measures: float) -> Curve:
    return Curve(row, 0, tuple(points(factor, last, **measures)))


def result(cell: Cell) -> dict[str, Any]:
    """FedAvg costs a half; its accuracy is told apart over own classes, and 0.1 higher at seed 1."""
    if cell.row == "full":
        return made_up(cell, 0.9, curve=points(2.0))
    return made_up(cell, 0.9, curve=points(1.0, own_accuracy=0.6 + 0.1 * cell.seed))


def test_the_budget_is_the_largest_that_all_have_reached() -> None:
    curves = [curve("a", 2.0), curve("b", 1.0), curve("c", 3.0, last=20)]
    assert common_budget(curves, "cpu") == 30.0
    assert common_budget(curves, "round") == 20.0


def test_a_run_that_spends_nothing_of_a_kind_sets_no_budget_of_it() -> None:
    assert common_budget([curve("a", 2.0), curve("alone", 0.0)], "cpu") == 60.0
    assert common_budget([curve("alone", 0.0)], "cpu") is None


def test_between_two_evaluations_is_the_line_through_both() -> None:
    measured = curve("a", 2.0).measured("cpu", "accuracy")
    assert at_budget(measured, 50.0) == pytest.approx(0.25)
    assert at_budget(measured, 40.0) == pytest.approx(0.20)


def test_before_the_first_and_after_the_last_evaluation_there_is_no_value() -> None:
    measured = curve("a", 2.0).measured("cpu", "accuracy")
    assert at_budget(measured, 19.9) is None
    assert at_budget(measured, 60.1) is None
    assert at_budget(measured, 60.0) == pytest.approx(0.30)
    assert at_budget([], 1.0) is None


def test_own_classes_count_where_a_run_tells_them_apart() -> None:
    assert curve("a", 1.0, own_accuracy=0.7).measured("round", "accuracy")[0] == (10.0, 0.7)


def test_an_evaluation_without_a_value_is_left_out() -> None:
    gap = Curve("a", 0, ({"round": 1, "nll": None}, {"round": 2, "nll": 0.1}))
    assert gap.measured("round", "nll") == [(2.0, 0.1)]


def test_the_table_has_each_row_at_each_budget(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path, CURVES)
    text = "\n".join(budgets_page(experiment, select(experiment).cells(experiment), result))
    assert "| method | 30 rounds: accuracy, % | 30 rounds: NLL | 3.0 kB: accuracy, %" in text
    assert "30 CPU seconds: accuracy, %" in text
    # pFedGP has spent 30 seconds after 15 rounds.
    assert "| pFedGP | 30.0 ± 0.00 | 0.500 ± 0.000 | 30.0 ± 0.00 | 0.500 ± 0.000 | 15.0 ± 0.00 |" in text
    assert "| FedAvg | 65.0 ± 5.0 |" in text


def test_an_experiment_that_wants_no_curves_has_none(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    assert budgets_page(experiment, select(experiment).cells(experiment), result) == []


def test_the_figure_has_a_line_for_each_run_in_every_panel(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path, CURVES)
    cells = select(experiment).cells(experiment)
    drawing = curves_figure(experiment, "two", column_curves(cells, "two", result))
    root = ET.fromstring(drawing.svg_file())
    lines = [each for each in root.iter() if each.tag.endswith("polyline")]
    assert len(lines) == 6 * 4 + 2  # two rows and two seeds in six panels, and two keys
    texts = {each.text for each in root.iter() if each.tag.endswith("text")}
    assert {"pFedGP", "FedAvg", "rounds", "CPU seconds", "NLL"} <= texts
    assert drawing.png().startswith(b"\x89PNG")
