"""CSV files as spreadsheets of several countries write them give the same samples, or say why they cannot be read."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.own.reader import check_data, read_samples
from pfedgp_core.data.own.samples import Layout
from pfedgp_core.data.tables.choice import TableChoice
from tests.data_files import refused

PLAIN = "age,crp,label\n-0.37,1.5,ill\n0.33,-12.25,well\n1234.5,0,ill\n"
GERMAN = PLAIN.replace(",", ";").replace(".", ",")
EXPECTED = np.array([[-0.37, 1.5], [0.33, -12.25], [1234.5, 0.0]], np.float32).tolist()


@pytest.mark.parametrize(
    "content",
    [
        PLAIN.encode(),
        PLAIN.replace(",", "|").encode(),
        PLAIN.replace("\n", "\r\n").encode("utf-8-sig"),
        PLAIN.replace("\n", "\r").encode(),
        GERMAN.encode(),
        GERMAN.replace("\n", "\r\n").encode("utf-8-sig"),
        PLAIN.replace(",", "\t").encode("utf-16"),
        PLAIN.encode("utf-16-le"),
        PLAIN.encode("utf-16-be"),
        PLAIN.encode("utf-32"),
        b"sep=;\r\n" + PLAIN.replace(",", ";").encode(),
        b'"sep=;"\n' + GERMAN.encode(),
        b"# exported in 2024\n\n# by hand\n" + PLAIN.encode(),
        PLAIN.replace("\n", ",\n").encode(),
        PLAIN.replace("\n", ",,\n").encode() + b",,,,\n,,,,\n\n",
        GERMAN.replace("\n", ";\r\n").encode(),
        b'"age","crp","label"\n"-0,37","1,5","ill"\n"0,33","-12,25","well"\n"1234,5","0","ill"\n',
    ],
)
def test_every_dialect_gives_the_same_samples(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    samples = read_samples(tmp_path / "t.csv")
    assert (samples.columns, samples.labels) == (("age", "crp"), ("ill", "well", "ill"))
    assert samples.inputs.tolist() == EXPECTED
    assert samples.ids == ("1", "2", "3")


@pytest.mark.parametrize(
    ("content", "cause"),
    [
        (b"a;label\n1,234;x\n2,345;y\n", "nobody can tell whether '1,234'"),
        (b"a;b;label\n1,5;2.5;x\n", "decimal points and decimal commas"),
        (b"a;label\n1.234,5;x\n", "marks between thousands"),
        (b"a;label\n0,5;x\n1.234;y\n", "Something else than numbers in the column 'a' ('1.234'"),
        (b"a,label\n0,5,x\n", "numbers with decimal commas need semicolons"),
        (b"# a,label\n1.5,0\n2.5,1\n", "no line of column names, unless a comment before it holds them"),
        (b"1.5,0\n2.5,1\n", "no line of column names"),
        (b"PK\x03\x04rest", "workbook of Excel"),
        (b"<html><table>", "web page"),
        (b"a,label\n1,x\0\n", "zero bytes"),
        ("a,label\n1,больной\n".encode("cp1251"), "not UTF-8, and line 2 may hold"),
        ("a,label\n1,chyb\u0119\n".encode("cp1250"), "--encoding says what it is"),
        ("a,label\n1,k\u00e4lte\n".encode() + b"2,\xff\n", "not UTF-8"),
        (b"a,b,label\n1,2,3,x\n", "The header names 3 columns, but row 1 has 4"),
        (b"a,label,\n1,x,7\n", "The header names 2 columns, but row 1 has 3"),
    ],
)
def test_what_cannot_be_read_is_refused_with_its_cause(content: bytes, cause: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(content)
    assert cause in refused(tmp_path / "t.csv", label_column="label")


def test_text_of_windows_is_read_where_it_cannot_be_another_one_and_the_operator_may_name_it(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_bytes("größe,label\n1,krank\n2,fröhlich\n".encode("cp1252"))
    assert read_samples(file).columns == ("größe",)
    assert any("Windows-1252" in remark for remark in check_data(file).remarks)
    file.write_bytes("a,label\n1,très\n2,zdravý\n".encode("cp1252"))
    assert "'2,zdravý'" not in refused(file)
    named = Layout(choice=TableChoice(encoding="cp1252"))
    assert read_samples(file, layout=named).labels == ("très", "zdravý")


def test_labels_of_a_german_table_are_those_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a;label\n0,5;0,0\n1,5;1,0\n")
    assert check_data(tmp_path / "t.csv").splits[0].counts == {"0": 1, "1": 1}
    (tmp_path / "t.csv").write_text("a;label\n0,5;12,5\n1,5;-3,25\n")
    assert check_data(tmp_path / "t.csv", regression=True).trainable
    assert read_samples(tmp_path / "t.csv").labels == ("12.5", "-3.25")


def test_a_separator_within_a_name_is_no_separator(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("weight, kg;height, m;label\n1,5;2,5;x\n3,5;4,5;y\n")
    assert read_samples(tmp_path / "t.csv").columns == ("weight, kg", "height, m")


def test_columns_that_pandas_numbers_have_names(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("0,1\n1.5,2\n")
    assert read_samples(tmp_path / "t.csv", labelled=False).inputs.tolist() == [[1.5, 2.0]]
