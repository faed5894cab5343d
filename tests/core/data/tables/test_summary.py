"""What a site tells of its columns: kinds, gaps, moments and texts, and nothing of few rows."""

import json
from typing import Any

import numpy as np
import pytest

from pfedgp_core.data.tables.cells_that_leave import WITHHELD
from pfedgp_core.data.tables.raw import RawTable, raw_table
from pfedgp_core.data.tables.summary import MOST_COLUMNS, ColumnSummary, TableSummary
from pfedgp_core.errors import DataError

ROWS = 20
COLUMNS: dict[str, list[Any]] = {
    "age": [50.0 + i for i in range(ROWS)],
    "crp": [None if i < 6 else f"<{i}" if i % 2 else float(i) for i in range(ROWS)],
    "sex": ["f"] * 12 + ["m"] * 8,
    "smoker": ["yes", "no"] * 10,
    "visit": [f"2024-01-{i + 1:02d}" for i in range(ROWS)],
    "name": [f"p{i}" for i in range(ROWS)],
    "rare": [1.0] * 3 + [None] * 17,
    "few gaps": [None, *map(float, range(19))],
}


def table(columns: dict[str, list[Any]] = COLUMNS) -> RawTable:
    n = len(next(iter(columns.values())))
    return raw_table(columns, [str(i + 1) for i in range(n)])


@pytest.fixture
def told() -> dict[str, ColumnSummary]:
    return TableSummary.of("ward", table()).columns


def test_kinds(told: dict[str, ColumnSummary]) -> None:
    kinds = {name: column.kind for name, column in told.items()}
    assert kinds == {
        "age": "number",
        "crp": "limits",
        "sex": "text",
        "smoker": "boolean",
        "visit": "date",
        "name": "words",
        "rare": "empty",
        "few gaps": "number",
    }


def test_moments_are_of_the_known_values(told: dict[str, ColumnSummary]) -> None:
    ages = np.array(COLUMNS["age"])
    assert told["age"] == ColumnSummary("number", ROWS, 0, ages.mean(), ages.std())
    limits = np.array([i / 2 if i % 2 else i for i in range(6, ROWS)], float)  # evens are numbers, odd ones halved
    assert (told["crp"].count, told["crp"].missing) == (14, 6)
    assert (told["crp"].mean, told["crp"].std) == pytest.approx((limits.mean(), limits.std()))
    assert told["visit"].mean == pytest.approx(19723 + 9.5)  # days from 1970 to 2024-01-01


def test_texts_have_their_rows_and_rare_ones_no_name(told: dict[str, ColumnSummary]) -> None:
    assert told["sex"].values == {"f": 12, "m": 8}
    assert told["name"].values == {}


def test_few_values_and_few_gaps_do_not_show(told: dict[str, ColumnSummary]) -> None:
    assert told["rare"] == ColumnSummary("empty", 0, ROWS)
    assert (told["few gaps"].count, told["few gaps"].missing) == (ROWS, 0)


def test_another_floor_hides_more() -> None:
    higher = TableSummary.of("ward", table()).floored(10).columns
    assert (higher["crp"].count, higher["crp"].missing) == (ROWS, 0)
    assert higher["sex"].values == {"f": WITHHELD}  # its 12 of 20 would tell of the 8 others
    assert higher["smoker"].values == {"yes": 10, "no": 10}


def test_codes_beside_texts_are_texts_and_a_stray_text_among_numbers_is_none() -> None:
    columns: dict[str, list[Any]] = {
        "stage": [1.0, 2.0, "x"] * 20,
        "lab": [*np.linspace(0, 1, 59).tolist(), "n.d."],
    }
    told = TableSummary.of("ward", table(columns)).columns
    assert told["stage"].values == {"1": 20, "2": 20, "x": 20}
    assert told["lab"].kind == "number"
    few: dict[str, list[Any]] = {"age": [*map(float, range(20, 39)), "unknown"], "code": [1.0, 2.0] * 9 + ["x", "x"]}
    assert [column.kind for column in TableSummary.of("ward", table(few)).columns.values()] == ["number", "text"]


def test_what_is_sent_is_read_again() -> None:
    made = TableSummary.of("ward", table())
    names = tuple(made.columns)
    assert TableSummary.from_json("ward", ROWS, names, made.means, made.stds, made.to_json()) == made


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (["text", 20, 0, {"a\x1b[2J": 20}], "a text that has the invisible character"),
        (["text", 20, 0, {f"v{i}": 1 for i in range(51)}], "51 texts, more than 50"),
        (["text", 20, 0, {"f": 21}], "other numbers of rows"),
        (["number", 10**9, 0, {}], "other numbers of rows"),
        (["number", 20, 0, {"f": 3}], "do not go with its kind"),
        (["text", 20, 0, {}], "do not go with its kind"),
        (["formula", 20, 0, {}], "a kind that there is not"),
        (["number", -20, 40, {}], "none (ValueError)"),
        (["number", True, 19, {}], "none (TypeError)"),
        (["text", 20, 0, ["f"]], "none (AttributeError)"),
        ("four", "none (TypeError)"),
        (17, "none (TypeError)"),
    ],
)
def test_what_no_site_sends_is_refused(part: Any, reason: str) -> None:
    with pytest.raises(DataError) as refused:
        TableSummary.from_json("ward", 20, ("sex",), (0.0,), (0.0,), json.dumps([part]))
    assert reason in str(refused.value)


@pytest.mark.parametrize("told", ["", "{", "[]", "null", '["text"]', "[" * 100_000])
def test_damaged_summaries_are_refused(told: str) -> None:
    with pytest.raises(DataError, match="a summary of its columns that is none"):
        TableSummary.from_json("ward", 20, ("sex",), (0.0,), (0.0,), told)


def test_more_columns_than_sites_agree_on() -> None:
    wide = RawTable(tuple(f"c{i}" for i in range(MOST_COLUMNS + 1)), np.zeros((1, MOST_COLUMNS + 1)), {}, ("1",))
    with pytest.raises(DataError, match="5,001 columns, and sites agree on 5,000 at most"):
        TableSummary.of("ward", wide)
