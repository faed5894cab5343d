"""Names of columns: bounds, hashes, what differs between two tables, and names in messages."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from client.column_policy import ColumnPolicy
from pfedgp_core.data.column_names import (
    COLUMN_NAME_LIMIT,
    COLUMNS_LIMIT,
    HASHED,
    columns_difference,
    columns_fault,
    hashed_columns,
)
from pfedgp_core.data.own.kept_split import keep_split
from pfedgp_core.data.own.reader import check_data, read_samples
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.wire.hello import Hello
from tests.ordered_tables import ordered_table

KEY, OTHER_KEY = b"0123456789abcdef", b"fedcba9876543210"
HELLO = Hello("w", (0,), ("a",), 9, 3, 3, (2,), "", {}, (0.0, 0.0), (1.0, 1.0), ("age", "bmi"))
BAD = {
    ("age",): "1 name for 2 columns",
    ("age", "age"): "a column twice",
    ("age", " "): "is blank",
    ("age", "x" * (COLUMN_NAME_LIMIT + 1)): "more than 200 characters",
    ("age", "\x1b[2J"): "invisible character",
    ("age", HASHED + "zz"): "is no such hash",
}


@pytest.mark.parametrize("columns", BAD)
def test_names_that_a_message_cannot_have_are_refused(columns: tuple[str, ...]) -> None:
    assert BAD[columns] in columns_fault(columns, 2)
    with pytest.raises(DataError, match="hello with"):
        Hello.from_wire(*replace(HELLO, columns=columns).to_wire())
    with pytest.raises(DataError, match="description of the federation's data with"):
        DataSpec.from_json(DataSpec(("a",), (2,), (0.0, 0.0), (1.0, 1.0), columns).to_json())


def test_names_beyond_any_table_are_refused_and_not_sent() -> None:
    many = tuple(map(str, range(COLUMNS_LIMIT + 1)))
    assert "beyond what a table has" in columns_fault(many)
    assert ColumnPolicy().sent(many) == ()


def test_names_come_through_a_message_and_former_versions_send_none() -> None:
    assert Hello.from_wire(*HELLO.to_wire()) == HELLO
    config, metrics = HELLO.to_wire()
    fields = json.loads(config["hello"])
    del fields["columns"]
    assert Hello.from_wire({"hello": json.dumps(fields)}, metrics).columns == ()
    with pytest.raises(DataError, match="inputs that have none"):
        Hello.from_wire(*replace(HELLO, input_shape=(2, 4, 4)).to_wire())


def test_hashes_depend_on_the_key_and_not_on_spaces_or_forms_of_characters() -> None:
    first = hashed_columns(("größe", "body mass"), KEY)
    assert hashed_columns(("gro\u0308ße", " body  mass "), KEY) == first
    assert not set(first) & set(hashed_columns(("größe", "body mass"), OTHER_KEY))
    assert columns_fault(first, 2) == ""


def test_the_difference_names_both_sides_and_what_may_be_meant() -> None:
    assert columns_difference(("b", "a"), ("a", "b")) == ""
    said = columns_difference(("CRP", "ward"), ("crp", "age"))
    assert said == (
        "lacks the columns 'crp', 'age' and has the columns 'CRP', 'ward' beside the expected ones (did you mean 'crp' "
        "for 'CRP'?)"
    )
    assert "gives plain names" in columns_difference(("a",), hashed_columns(("a",), KEY))


def test_an_unknown_form_is_refused() -> None:
    with pytest.raises(ConfigError, match="column-names = 'secret'"):
        ColumnPolicy.of({"column-names": "secret"})
    assert "0123" not in repr(ColumnPolicy(key=KEY))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_sample_is_the_same_one_in_another_order_of_columns(suffix: str, tmp_path: Path) -> None:
    tables = [ordered_table(tmp_path / "a.csv", 1), ordered_table(tmp_path / "b.csv", 1, ("bmi", "age", "crp"))]
    if suffix == ".parquet":
        csv, parquet = pytest.importorskip("pyarrow.csv"), pytest.importorskip("pyarrow.parquet")
        for file in tables:
            parquet.write_table(csv.read_csv(file), file.with_suffix(suffix))
    first, other = (read_samples(file.with_suffix(suffix)) for file in tables)
    assert first.digests is not None
    assert other.digests is not None
    assert other.digests.tobytes() == first.digests.tobytes()
    assert other.arranged((1, 2, 0)).inputs.tobytes() == first.inputs.tobytes()


def test_a_split_that_a_former_version_kept_stays(tmp_path: Path) -> None:
    file, classes = tmp_path / "split.json", ["a"] * 20
    former = [f"{i:02x}" for i in range(20)]
    parts = keep_split(file, former, classes)
    now = [f"f{i:02x}" for i in range(20)]
    assert keep_split(file, now, classes, lambda: former) == parts
    assert keep_split(file, now, classes) == parts


def test_a_name_that_cannot_be_sent_is_a_problem_of_the_data(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("crp,,label\n0,1,a\n1,2,b\n")
    report = check_data(tmp_path / "t.csv")
    assert "Not a name of a column: '' (is blank)" in report.problems[0]


def test_names_that_differ_in_spaces_alone_are_one_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("body mass,body  mass,label\n0,1,a\n1,2,b\n")
    with pytest.raises(DataError, match="several columns named body mass"):
        read_samples(tmp_path / "t.csv")


def test_an_index_column_is_noted_by_name(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("Unnamed: 0,crp,label\n0,1,a\n1,2,b\n0,1,a\n1,2,b\n")
    (remark,) = [line for line in check_data(tmp_path / "t.csv").remarks if "index of rows" in line]
    assert "'Unnamed: 0'" in remark
