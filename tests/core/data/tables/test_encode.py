"""Columns become inputs by the federation's rules, the same in CSV and Parquet; what no rule covers is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp_core.column_rules import rules_text
from pfedgp_core.data.own.reader import check_data, read_samples
from pfedgp_core.data.own.samples import Layout, Samples
from tests.data_files import refused

SEX = {"kind": "category", "values": ["f", "m", "x"], "also": {"female": "f"}, "missing": "f", "indicator": True}
CRP = {"kind": "number", "codes": [-999], "censored": "half", "missing": 1.5, "indicator": True, "low": 0}
RULES = {
    "sex": SEX,
    "crp": CRP,
    "smoker": {"kind": "boolean", "missing": "false", "also": {"ja": "true"}},
    "seen": {"kind": "date"},
    "ward": {"kind": "ignore"},
}
TABLE: dict[str, list[Any]] = {
    "age": [50, 60.5, 70, 80],
    "sex": ["f", "m", None, "female"],
    "crp": ["<0.5", "-999", "3", None],
    "smoker": [True, False, None, True],
    "seen": ["1970-01-02", "1971-01-01T12:00:00", "1969-12-31", "1970-01-01"],
    "ward": ["north", None, "south", "7"],
    "label": ["ill", "well", "ill", "well"],
}
NAMES = ("age", "sex=m", "sex=x", "sex missing", "crp", "crp missing", "smoker", "seen")
INPUTS = [
    [50, 0, 0, 0, 0.25, 0, 1, 1],
    [60.5, 1, 0, 0, 1.5, 1, 0, 365.5],
    [70, 0, 0, 1, 3, 0, 0, -1],
    [80, 0, 0, 0, 1.5, 1, 1, 0],
]


def write(path: Path, table: dict[str, list[Any]] = TABLE) -> Path:
    if path.suffix == ".csv":
        rows = zip(*table.values(), strict=True)
        lines = [",".join("" if cell is None else str(cell) for cell in row) for row in rows]
        path.write_text("\n".join([",".join(table), *lines]) + "\n")
    else:
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table(table), path)
    return path


def read(path: Path, rules: dict[str, Any]) -> Samples:
    return read_samples(path, layout=Layout(rules=rules_text(rules)))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_rules_alone_decide_the_inputs(suffix: str, tmp_path: Path) -> None:
    samples = read(write(tmp_path / f"t{suffix}"), RULES)
    assert samples.columns == NAMES
    assert samples.inputs.tolist() == INPUTS
    some = {name: values[1:3] for name, values in TABLE.items()}
    assert read(write(tmp_path / f"some{suffix}", some), RULES).inputs.tolist() == INPUTS[1:3]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_true_and_false_need_no_rule(suffix: str, tmp_path: Path) -> None:
    table = {"smoker": [True, False, True], "label": ["a", "b", "a"]}
    assert read_samples(write(tmp_path / f"t{suffix}", table)).inputs.tolist() == [[1], [0], [1]]
    (tmp_path / "w.csv").write_text("smoker,label\nYES,a\nNo,b\n")
    assert read_samples(tmp_path / "w.csv").inputs.tolist() == [[1], [0]]


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("values", "cause"),
    [
        (["f", "m", "f"], "Something else than numbers in the column 'x' ('f', 'm'; 3 of 3 rows, the first is row 1)"),
        (["1", "m", "2"], "('m'; 1 of 3 rows, the first is row 2)"),
        (["true", "1", "0"], "('true'; 1 of 3 rows"),
        (["<0.5", "1", "2"], "Values beyond a limit in the column 'x' ('<0.5'; 1 of 3 rows"),
        (["2024-01-01", "2024-01-02", "2024-01-03"], "Dates in the column 'x'"),
        (["1", None, "2"], "Missing or infinite values in 1 of 3 rows (the first is row 2, column 'x')"),
    ],
)
def test_what_no_rule_covers_is_refused_and_the_remedy_is_named(
    values: list[Any], cause: str, suffix: str, tmp_path: Path
) -> None:
    said = refused(write(tmp_path / f"t{suffix}", {"a": [1, 2, 3], "x": values, "label": ["u", "v", "u"]}))
    assert cause in said
    assert "pfedgp check-data --rules FILE" in said


@pytest.mark.parametrize(
    ("rule", "values", "cause"),
    [
        ({"kind": "category", "values": ["f", "m"]}, ["F", "m"], "knows f, m, and not 'F' (1 of 2 rows, the first is"),
        ({"kind": "category", "values": ["f", "m"]}, ["F", "m"], "did you mean 'f'?"),
        ({"kind": "category", "values": ["1", "2"]}, ["1", "3.5"], "knows 1, 2, and not '3.5'"),
        ({"kind": "category", "values": ["f", "m"]}, ["f", None], "Missing values in the column 'x'"),
        ({"kind": "number", "low": 0, "high": 10, "unit": "g"}, [5, 5000], "numbers from 0 up to 10 g, and not '5000'"),
        ({"kind": "number"}, [5, "<3"], "knows numbers, and not '<3'"),
        ({"kind": "date"}, ["2024-01-01", "soon"], "holds 'soon'"),
        ({"kind": "date"}, ["2024-01-01", 45000], "holds '45000'"),
        ({"kind": "boolean"}, ["true", "maybe"], "knows false, true, and not 'maybe'"),
    ],
)
def test_cells_that_break_a_rule_are_refused(
    rule: dict[str, Any], values: list[Any], cause: str, tmp_path: Path
) -> None:
    file = write(tmp_path / "t.csv", {"a": [1, 2], "x": values, "label": ["u", "v"]})
    assert cause in refused(file, layout=Layout(rules=rules_text({"x": rule})))


def test_other_texts_become_the_value_that_the_rule_names(tmp_path: Path) -> None:
    rule = {"kind": "category", "values": ["north", "rest"], "other": "rest"}
    file = write(tmp_path / "t.csv", {"x": ["north", "south", "7"], "label": ["u", "v", "u"]})
    assert read(file, {"x": rule}).inputs.tolist() == [[0], [1], [1]]


def test_a_column_with_a_rule_has_to_be_there(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", {"Sex": ["f", "m"], "label": ["u", "v"]})
    assert "no column 'sex', for which the federation has a rule: did you mean 'Sex'?" in refused(
        file, layout=Layout(rules=rules_text({"sex": SEX}))
    )


def test_what_a_run_may_have_rules_for_is_noted_and_no_problem(tmp_path: Path) -> None:
    report = check_data(write(tmp_path / "t.csv"), layout=Layout(rules=None))
    assert report.trainable
    assert any("'sex'" in remark for remark in report.remarks)


def test_the_draft_reads_what_it_was_drafted_from(tmp_path: Path) -> None:
    import tomllib

    many = {name: values * 5 for name, values in TABLE.items()}
    file = write(tmp_path / "t.csv", many)
    (part,) = check_data(file).splits
    rules = tomllib.loads(part.rules)["data"]["columns"]
    kinds = {name: rule["kind"] for name, rule in rules.items()}
    assert kinds == {"sex": "category", "crp": "number", "smoker": "boolean", "seen": "date", "ward": "category"}
    samples = read(file, rules)
    assert len(samples) == 20
    assert np.isfinite(samples.inputs).all()


def test_the_draft_says_what_keeps_a_column_of_numbers_with_a_text(tmp_path: Path) -> None:
    file = write(tmp_path / "t.csv", {"age": ["pending", *range(40, 59)], "label": ["u", "v"] * 10})
    (part,) = check_data(file).splits
    assert 'kind = "ignore"  # numbers, and texts in a few rows' in part.rules
    assert "pending" not in part.rules


def test_the_draft_names_no_text_of_fewer_rows_than_a_cell_may_have(tmp_path: Path) -> None:
    texts = ["common"] * 6 + ["usual"] * 6 + ["one person"] * 4
    file = write(tmp_path / "t.csv", {"x": texts, "label": ["u", "v"] * 8})
    (part,) = check_data(file).splits
    assert "one person" not in part.rules
    assert '"common", "usual"' in part.rules
