"""CSV that no spreadsheet takes for formulas, and that reads back as it was given."""

import csv
import io
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.files.csv_text import csv_text, join_names, read_csv, split_names

TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc")) | st.sampled_from("=+-@'\t\n\r;\\\","), max_size=12)


@pytest.mark.parametrize("text", ["=1+1", "+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "=", "'=1", "\uff1d1"])
def test_a_text_that_looks_like_a_formula_is_one_no_more(text: str) -> None:
    (_, (cell, _)) = csv.reader(io.StringIO(csv_text(["name", "n"], [[text, 1]]), newline=""))
    assert cell == f"'{text}"
    assert read_csv(csv_text(["name", "n"], [[text, 1]])) == [{"name": text, "n": "1"}]


@pytest.mark.parametrize("number", [-3, -0.25, 1e-12, "-3", "+1.5", "-2e-7", "-.5"])
def test_numbers_stay_as_they_are(number: object) -> None:
    assert csv_text(["x"], [[number]]) == f"x\n{number}\n"


def test_headings_are_texts_too() -> None:
    assert csv_text(["=1+1"], []) == "'=1+1\n"


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), max_size=5))
def test_every_table_reads_back_as_it_was_given(rows: list[list[str]]) -> None:
    assert [list(row.values()) for row in read_csv(csv_text(["a", "b"], rows))] == rows


@given(st.lists(TEXTS.filter(bool), max_size=5))
def test_names_in_one_cell_come_apart_as_they_were(names: list[str]) -> None:
    assert split_names(join_names(names)) == names


def test_usual_names_are_joined_by_semicolons() -> None:
    assert join_names(["cat", "dog"]) == "cat;dog"
    assert join_names(["a;b", "c"]) == "a\\;b;c"


def test_a_cell_of_a_thousand_long_class_names_is_read() -> None:
    cell = join_names(f"{'x' * 195}{i:05}" for i in range(1000))
    assert read_csv(csv_text(["classes"], [[cell]])) == [{"classes": cell}]


def test_no_other_module_of_the_product_writes_csv() -> None:
    root = Path(__file__).parents[3]
    writers = [
        path.relative_to(root).as_posix()
        for package in ("client", "pfedgp", "pfedgp_core", "server")
        for path in (root / package).rglob("*.py")
        if re.search(r"csv\.(writer|DictWriter)|\.to_csv\(", path.read_text(encoding="utf-8"))
    ]
    assert writers == ["pfedgp_core/files/csv_text.py"]
