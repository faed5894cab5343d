"""Files of experiments: those that come with pFedGP can be run, and broken ones are refused in one sentence."""

from pathlib import Path

import pytest

from pfedgp.experiments.catalogue import find_experiment, known_experiments
from pfedgp.experiments.reading import read_experiment
from pfedgp_core.errors import ConfigError
from pfedgp_core.registered_methods import METHODS
from tests.small_experiment import TEXT, small_experiment, written


@pytest.mark.parametrize("name", known_experiments())
def test_every_experiment_of_the_checkout_can_be_read(name: str) -> None:
    assert read_experiment(find_experiment(name)).rows


def test_table_1_has_the_papers_numbers() -> None:
    table = read_experiment(find_experiment("table1_cifar10"))
    assert (table.rows["full"].paper["c500"].value, table.rows["full"].paper["c500"].error) == (87.6, 0.4)


def test_the_digits_experiment_has_every_method() -> None:
    experiment = read_experiment(find_experiment("digits_methods"))
    methods = {row.settings.get("method", "pfedgp") for row in experiment.rows.values()}
    assert methods == set(METHODS)


def test_rows_win_over_columns_and_single_cells_over_rows(tmp_path: Path) -> None:
    experiment = small_experiment(tmp_path)
    row, column = experiment.rows["fedavg"], experiment.columns["five"]
    assert experiment.flat(row, column)["rounds"] == 3
    assert experiment.flat(row, experiment.columns["two"])["rounds"] == 2


def test_a_grid_is_all_combinations(tmp_path: Path) -> None:
    text = TEXT.replace("candidates = 2", "candidates = 4").replace(
        "[0.1, 0.05] }", "[0.1, 0.05], momentum = [0, 0.9] }"
    )
    candidates = small_experiment(tmp_path, text).rows["fedavg"].candidates
    assert len(candidates) == 4
    assert {"learning-rate": 0.05, "momentum": 0} in candidates


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("title =", "title", "not valid TOML"),
        ("local-epochs", "local-epoch", "row 'full', column 'two': Unknown setting 'local-epoch'"),
        ("rounds = 2", "rounds = 0", "rounds = 0 is out of range"),
        ('"fedavg" }', '"fedavgg" }', "row 'fedavg', column 'two': method = 'fedavgg' is not known"),
        ("five = 80.0", "six = 80.0", "row 'full' names the column 'six'"),
        ("five = 80.0", 'five = "80"', "is no number"),
        ("candidates = 2", "candidates = 1", "a grid of 2 candidates, more than the 1"),
        ("seeds = [0, 1]", "seeds = []", "seeds = []"),
        ("learning-rate = [0.1, 0.05]", 'best-classes = ["all", "own"]', "numbers would be over different classes"),
        ("candidates = 2", 'budget = "half"', "search.budget = 'half' is no float"),
        ("five = { rounds = 3 }", "five = 3", "five is no table"),
        ("[0.1, 0.05]", "[]", "learning-rate = [] is not a number"),
        ("place =", "places =", "the file has the key 'places': did you mean 'place'?"),
        ("[rows.full]", '[rows."a b"]', "row 'a b': a name has letters"),
    ],
)
def test_a_broken_file_is_refused(tmp_path: Path, old: str, new: str, expected: str) -> None:
    path = written(tmp_path, TEXT.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        read_experiment(path)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_unknown_experiment_is_named_with_the_nearest() -> None:
    with pytest.raises(ConfigError, match="did you mean 'digits_methods'"):
        find_experiment("digit_methods")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"none\.toml"):
        read_experiment(find_experiment(str(tmp_path / "none.toml")))


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ('of = "ful"', "did you mean 'full'"),
        ('of = "again"', "choose one of: full, fedavg"),
        ('of = "full"\nsettings = { learning-rate = 0.1 }', "changes learning-rate: it may change method"),
        ('of = "full"\nsettings = { method = "lda" }', "changes method: it may change method"),
        ('of = "fedavg"\nsettings = { method = "class-mean" }', r"may change method \(to fedavg-tuned or knn-per\)"),
        ('of = "fedavg"\ngrid = { knn-per.weight = [0.1, 0.5] }', "a row of pfedgp or fedavg with the same columns"),
    ],
)
def test_a_row_that_tests_anothers_model_changes_prediction_alone(tmp_path: Path, row: str, expected: str) -> None:
    path = written(tmp_path, f"{TEXT}\n[rows.again]\n{row}\n")
    with pytest.raises(ConfigError, match=expected):
        read_experiment(path)


def test_a_row_that_tests_anothers_model_has_its_settings(tmp_path: Path) -> None:
    text = f'{TEXT}\n[rows.again]\nof = "full"\nsettings = {{ gp.predict-sweeps = 9 }}\n'
    experiment = small_experiment(tmp_path, text)
    flat = experiment.flat(experiment.rows["again"], experiment.columns["five"])
    assert (flat["local-epochs"], flat["classes-per-client"], flat["gp.predict-sweeps"]) == (1, 5, 9)
