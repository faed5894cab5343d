"""Tables with a column for the site: encoding, missing values, dropped rows, names of sites."""

from typing import Any

import numpy as np
import pytest

from pfedgp_core.data.site_table import Column, site_table
from pfedgp_core.errors import DataError

N = 40
TABLE: dict[str, list[Any]] = {
    "where": [float(i % 4 + 8) for i in range(N)],
    "age": [float(i) for i in range(N)],
    "kind": ["a", "b", "c", "b"] * (N // 4),
}
AGE, KIND = Column("age"), Column("kind", ("a", "b", "c"))
TARGET = [i % 2 for i in range(N)]


def made(table: dict[str, list[Any]] = TABLE, target: Any = TARGET, inputs: Any = (AGE, KIND)) -> Any:
    return site_table("wards", table, ("where", "ward"), inputs, target, ("no", "yes"))


def vectors(dataset: Any) -> np.ndarray:
    return np.concatenate([split.inputs for split in dataset.splits().values()])


def test_numbers_stay_and_levels_become_columns() -> None:
    found = vectors(made())
    rows = {row[0]: tuple(row[1:]) for row in found.tolist()}
    assert [rows[i] for i in (0.0, 1.0, 2.0)] == [(0, 0), (1, 0), (0, 1)]
    assert sorted(rows) == TABLE["age"]


def test_sites_are_named_by_number() -> None:
    dataset = made()
    assert dataset.sites.names == ("ward-08", "ward-09", "ward-10", "ward-11")
    where = dataset.sites.of["test"]
    assert np.array_equal(where, dataset.test.inputs[:, 0].astype(int) % 4)


def test_sites_with_names_are_named_by_them() -> None:
    dataset = made(TABLE | {"where": [f"{'nsew'[i % 4]}" for i in range(N)]})
    assert dataset.sites.names == ("ward-e", "ward-n", "ward-s", "ward-w")


def test_a_missing_number_is_the_median_of_training_rows_and_marked() -> None:
    ages = [None if i == 7 else float(i) for i in range(N)]
    dataset = made(TABLE | {"age": ages}, inputs=(AGE,))
    known = dataset.train.inputs[dataset.train.inputs[:, 1] == 0, 0]
    ((age, mark),) = [row for row in vectors(dataset).tolist() if row[1]]
    assert (age, mark) == (np.float32(np.median(known)), 1)


def test_a_missing_level_is_the_base_and_marked() -> None:
    kinds = [None, *TABLE["kind"][1:]]
    rows = {row[0]: tuple(row[1:]) for row in vectors(made(TABLE | {"kind": kinds})).tolist()}
    assert (rows[0.0], rows[4.0]) == ((0, 0, 1), (0, 0, 0))


@pytest.mark.parametrize("change", ["site", "target"])
def test_a_row_without_site_or_target_is_dropped(change: str) -> None:
    table = TABLE | ({"where": [None, *TABLE["where"][1:]]} if change == "site" else {})
    dataset = made(table, TARGET if change == "site" else [None, *TARGET[1:]])
    assert 0.0 not in vectors(dataset)[:, 0]
    assert len(vectors(dataset)) == N - 1


def test_the_normalisation_is_that_of_training_rows() -> None:
    dataset = made()
    np.testing.assert_allclose(dataset.mean, dataset.train.inputs.mean(axis=0), rtol=1e-5)


def test_an_unknown_level_is_named() -> None:
    with pytest.raises(DataError, match="'kind' of wards holds 'd', where a, b, c are known"):
        made(TABLE | {"kind": ["d", *TABLE["kind"][1:]]})


def test_a_text_among_numbers_is_refused() -> None:
    with pytest.raises(DataError, match="'age' of wards holds a value that is no number"):
        made(TABLE | {"age": ["old", *TABLE["age"][1:]]})
