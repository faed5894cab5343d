"""A search takes the best candidate on validation data, once every candidate has been tried."""

from pathlib import Path

from pfedgp.experiments.cells import Cell, select
from pfedgp.experiments.search import choices, chosen
from tests.small_experiment import TEXT, made_up, small_experiment


def test_the_candidate_with_the_best_validation_score_is_chosen(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    selection = select(experiment)
    found = choices(experiment, selection, lambda cell: made_up(cell, 0.9 if cell.candidate else 0.8))
    assert [(each.row, each.column) for each in found] == [("fedavg", "two"), ("fedavg", "five")]
    assert {tuple((each.best or {}).items()) for each in found} == {(("learning-rate", 0.05),)}


def test_the_smaller_error_is_better_in_regression(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    found = choices(experiment, select(experiment), lambda c: made_up(c, 0.9 if c.candidate else 0.8, better="smaller"))
    assert found[0].best == {"learning-rate": 0.1}


def test_nothing_is_chosen_before_all_are_tried(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    found = choices(experiment, select(experiment), lambda c: made_up(c, 0.9) if c.candidate else None)
    assert {each.best is None for each in found} == {True}


def test_a_candidate_that_failed_is_not_chosen(tmp_path: Path) -> None:
    def result(cell: Cell) -> dict[str, object]:
        return made_up(cell, 0.5) if cell.candidate else {"status": "failed", "reason": "diverged"}

    experiment = small_experiment(tmp_path)
    assert choices(experiment, select(experiment), result)[0].best == {"learning-rate": 0.05}


def test_one_column_can_choose_for_all(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path, TEXT.replace("seed = 7", 'seed = 7\ncolumn = "two"'))
    selection = select(experiment)
    assert {cell.column for cell in selection.search_cells(experiment)} == {"two"}
    found = choices(experiment, selection, lambda cell: made_up(cell, 0.9 if cell.candidate else 0.8))
    assert chosen(experiment, selection, found)["fedavg", "five"] == {"learning-rate": 0.05}


def test_a_search_draws_other_seeds_than_the_table(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    assert {cell.settings.seed for cell in select(experiment).search_cells(experiment)} == {7}
