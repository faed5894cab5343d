"""The cells of a selection: which ones there are, and what a budget makes of their settings."""

from pathlib import Path

import pytest

from pfedgp.experiments.cells import select
from pfedgp_core.errors import ConfigError
from tests.small_experiment import TEXT, small_experiment


def test_all_cells_of_a_seed_come_before_the_next_seed(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    cells = select(experiment).cells(experiment)
    assert [cell.seed for cell in cells] == [0] * 4 + [1] * 4
    assert len({cell.name for cell in cells}) == 8


def test_a_selection_keeps_what_is_named(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    cells = select(experiment, rows=["fedavg"], columns=["five"], seeds=[3]).cells(experiment)
    assert [(cell.row, cell.column, cell.seed, cell.settings.seed) for cell in cells] == [("fedavg", "five", 3, 3)]


@pytest.mark.parametrize(("budget", "rounds", "every"), [(1.0, 100, 10), (0.2, 20, 2), (0.004, 1, 1)])
def test_a_budget_scales_rounds_and_evaluations(tmp_path: Path, budget: float, rounds: int, every: int) -> None:
    text = TEXT.replace("rounds = 2", "rounds = 100").replace("evaluate-every = 2", "evaluate-every = 10")
    experiment = small_experiment(tmp_path, text)
    cell = select(experiment, budget=budget).cells(experiment)[0]
    assert (cell.settings.rounds, cell.settings.evaluate_every, cell.settings.clients) == (rounds, every, 5)


def test_a_budget_scales_seeds_where_the_experiment_says_so(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path, TEXT.replace("seeds = [0, 1]", "seeds = [0, 1]\nscale-seeds = true"))
    assert select(experiment, budget=0.5).seeds == (0,)
    assert select(experiment).seeds == (0, 1)


def test_the_data_root_is_that_of_every_cell(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    selection = select(experiment, data_root="/data")
    cells = [*selection.cells(experiment), *selection.search_cells(experiment)]
    assert {cell.settings.data_root for cell in cells} == {"/data"}


def test_what_a_search_chose_is_in_the_cells(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    cells = select(experiment, seeds=[0]).cells(experiment, {("fedavg", "two"): {"learning-rate": 0.1}})
    rates = {(cell.row, cell.column): cell.settings.learning_rate for cell in cells}
    assert rates[("fedavg", "two")] == 0.1
    assert rates[("fedavg", "five")] == 0.05


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"rows": ["fedavgg"]}, "did you mean 'fedavg'"),
        ({"columns": ["three"]}, "--columns 'three'"),
        ({"budget": 0.0}, "--budget 0"),
        ({"budget": 2.0}, "--budget 2"),
        ({"seeds": [-1]}, "--seeds -1"),
    ],
)
def test_what_is_not_there_is_refused(tmp_path: Path, options: dict[str, object], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        select(small_experiment(tmp_path), **options)  # type: ignore[arg-type]
