"""The folder of an experiment takes results of one experiment under one budget, from one process at a time."""

from pathlib import Path

import pytest

from pfedgp.experiments.cells import select
from pfedgp.experiments.folder import ExperimentFolder
from pfedgp_core.errors import ArtefactError, ConfigError, DamagedStateError
from tests.small_experiment import TEXT, made_up, small_experiment


def claim(folder: Path, text: str, budget: float = 1.0, search: bool = False) -> None:
    experiment = small_experiment(folder.parent, text)
    opened = ExperimentFolder(folder)
    with opened.lock():
        opened.claim(experiment, select(experiment, budget=budget), search)


def begun(folder: Path, text: str = TEXT, search: bool = False) -> None:
    """A folder in which a run of the experiment has begun."""
    claim(folder, text, search=search)
    for name in ("full.two.seed-0", "fedavg.two.seed-0", "fedavg.five.seed-0"):
        (folder / "runs" / name).mkdir(parents=True)


def test_the_same_experiment_goes_on(tmp_path: Path) -> None:
    begun(tmp_path / "out")
    claim(tmp_path / "out", TEXT)


def test_rows_columns_seeds_and_the_papers_numbers_may_change(tmp_path: Path) -> None:
    begun(tmp_path / "out")
    more = TEXT.replace("seeds = [0, 1]", "seeds = [5]").replace("80.0", "81.0")
    claim(tmp_path / "out", f'{more}\n[rows.fedper]\nsettings = {{ method = "fedper" }}\n')


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("rounds = 3", "rounds = 4", "rounds of fedavg.five = 3, and this call has 4"),
        ("classes-per-client = 5", "classes-per-client = 10", "classes-per-client of"),
    ],
)
def test_another_setting_is_named(tmp_path: Path, old: str, new: str, expected: str) -> None:
    begun(tmp_path / "out")
    with pytest.raises(ConfigError, match=expected):
        claim(tmp_path / "out", TEXT.replace(old, new))


def test_another_budget_is_named(tmp_path: Path) -> None:
    begun(tmp_path / "out")
    with pytest.raises(ConfigError, match=r"budget = 1\.0, and this call has 0\.5: give another folder"):
        claim(tmp_path / "out", TEXT, budget=0.5)


def test_a_folder_in_which_no_run_has_begun_takes_another(tmp_path: Path) -> None:
    claim(tmp_path / "out", TEXT)
    claim(tmp_path / "out", TEXT.replace("rounds = 3", "rounds = 4"), budget=0.5)
    (tmp_path / "out" / "runs" / "full.two.seed-0").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"budget = 0\.5, and this call has 1\.0"):
        claim(tmp_path / "out", TEXT)


def test_collecting_notes_nothing(tmp_path: Path) -> None:
    """Another process may have the folder, and be about to begin its first run."""
    claim(tmp_path / "out", TEXT)
    kept = (tmp_path / "out" / "experiment.json").read_text()
    experiment, folder = small_experiment(tmp_path), ExperimentFolder(tmp_path / "out")
    folder.claim(experiment, select(experiment, budget=0.5), search=False, write=False)
    assert (tmp_path / "out" / "experiment.json").read_text() == kept


@pytest.mark.parametrize("part", ["cells", "runs"])
def test_rows_of_which_nothing_has_begun_may_change(part: str, tmp_path: Path) -> None:
    claim(tmp_path / "out", TEXT)
    other = TEXT.replace('method = "fedavg"', 'method = "fedper"')
    assert other != TEXT
    (tmp_path / "out" / part / "full.two.seed-0").mkdir(parents=True)
    claim(tmp_path / "out", other)
    (tmp_path / "out" / part / "fedavg.two.seed-0").mkdir(parents=True)
    with pytest.raises(ConfigError, match=r"method of fedavg\.two"):
        claim(tmp_path / "out", TEXT)


def test_another_grid_is_named_where_it_is_searched(tmp_path: Path) -> None:
    begun(tmp_path / "out", search=True)
    with pytest.raises(ConfigError, match="learning-rate of fedavg"):
        claim(tmp_path / "out", TEXT.replace("[0.1, 0.05]", "[0.1, 0.01]"), search=True)


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    folder = ExperimentFolder(tmp_path / "out")
    with folder.lock(), pytest.raises(ArtefactError, match="is in use by process"):
        folder.lock()


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(ArtefactError, match="is not empty"):
        ExperimentFolder(tmp_path).lock()
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize("content", ["{", "{}", '{"status": "completed", "metrics": 3}', '{"status": "failed"}'])
def test_a_damaged_result_is_named(tmp_path: Path, content: str) -> None:
    experiment = small_experiment(tmp_path)
    folder = ExperimentFolder(tmp_path / "out")
    cell = select(experiment).cells(experiment)[0]
    with folder.lock():
        assert folder.result(cell) is None
        folder.keep(cell, made_up(cell, 0.5))
        assert folder.result(cell) == made_up(cell, 0.5)
        (folder.path / "cells" / f"{cell.name}.json").write_text(content)
        with pytest.raises(DamagedStateError, match=cell.name):
            folder.result(cell)
