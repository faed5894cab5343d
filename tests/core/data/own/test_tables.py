"""Tables: CSV in its dialects, Parquet, faults."""

import sys
from pathlib import Path

import pytest

from pfedgp_core.data.own.reader import check_data, read_samples
from tests.data_files import refused

TABLE = "a,b,label\n1,2,cat\n3,4,dog\n"


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_csv(separator: str, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("\ufeff" + TABLE.replace(",", separator), encoding="utf-8")
    samples = read_samples(file)
    assert samples.inputs.tolist() == [[1, 2], [3, 4]]
    assert samples.labels == ("cat", "dog")
    assert samples.columns == ("a", "b")
    assert samples.ids == ("1", "2")


def test_csv_without_labels_is_for_prediction(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert read_samples(tmp_path / "t.csv", labelled=False).labels is None
    assert "no column 'label' for the classes, but a, b" in refused(tmp_path / "t.csv")
    assert read_samples(tmp_path / "t.csv", label_column="b").labels == ("2",)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,label\n1;5,cat\n", "in the column 'a' ('1;5'; 1 of 1 row, the first is row 1)"),
        ("a;label\n1,5;cat\n2.5;dog\n", "decimal point"),
        ("a,label\n1,cat\n,dog\n", "1 of 2 rows (the first is row 2, column 'a')"),
        ("a,label\n1e39,cat\n", "Missing or infinite"),
        ("a,label\n1,cat\n2,\n", "No class in 1 of 2 rows (the first is row 2)"),
        ("a,label\n1,cat\n2\n", "row 2 has 1"),
        ("a,a,label\n1,1,cat\n", "several columns named a"),
        ("label\ncat\n", "no column beside the label"),
        ("a,label\n", "has no row"),
        ("", "none at all"),
    ],
)
def test_bad_tables(content: str, expected: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(content)
    assert expected in refused(tmp_path / "t.csv")


def test_tables_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(b"a,label\n\xff,cat\n")
    assert "not UTF-8" in refused(tmp_path / "t.csv")
    (tmp_path / "t.csv").write_bytes(b"a,label\n\0,cat\n")
    assert "t.csv" in refused(tmp_path / "t.csv")


def test_parquet_names_the_package_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    for name in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert "pip install pyarrow" in refused(tmp_path / "t.parquet")


def test_parquet(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({"a": [1.0, 3.0, None], "label": ["cat", None, "dog"]})
    parquet.write_table(table, tmp_path / "t.parquet")
    report = check_data(tmp_path / "t.parquet")
    assert report.splits[0].usable == 1
    assert len(report.problems) == 2
    parquet.write_table(table.slice(0, 1), tmp_path / "t.parquet")
    assert read_samples(tmp_path / "t.parquet").labels == ("cat",)
    (tmp_path / "t.parquet").write_bytes(b"no")
    assert "cannot be read as Parquet" in refused(tmp_path / "t.parquet")
