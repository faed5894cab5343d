"""Which columns are features: what an operator names, and what is never one in silence."""

from pathlib import Path

import pytest

from pfedgp_core.data.own.reader import check_data, read_samples
from pfedgp_core.data.own.samples import Layout
from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.data.tables.choice import TableChoice
from pfedgp_core.errors import ConfigError, DataError

ROWS = "pid,age,crp,ward,label\nP01,1,2,north,ill\nP02,3,4,south,well\n,5,6,north,ill\n"


def chosen(path: Path, content: str = ROWS, **given: str):
    if path.suffix == ".csv":
        path.write_text(content)
    else:
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        head, *rows = [line.split(",") for line in content.splitlines()]
        table = {name: [row[i] or None for row in rows] for i, name in enumerate(head)}
        parquet.write_table(arrow.table(table), path)
    layout = Layout(choice=TableChoice.of({key.replace("_", "-"): value for key, value in given.items()}))
    return read_samples(path, layout=layout)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_same_features_by_keeping_and_by_dropping(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"t{suffix}"
    kept = chosen(file, columns="crp, age")
    dropped = chosen(file, drop="ward,pid")
    named = chosen(file, drop="ward", id_column="pid")
    assert kept.columns == dropped.columns == named.columns == ("age", "crp")
    assert kept.inputs.tobytes() == dropped.inputs.tobytes() == named.inputs.tobytes()
    assert (kept.ids, named.ids) == (("1", "2", "3"), ("P01", "P02", "3"))


def test_a_name_that_is_not_there_is_refused_with_the_one_that_is_meant(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has no column 'Age': did you mean 'age'\?"):
        chosen(tmp_path / "t.csv", columns="Age,crp")
    (tmp_path / "u.csv").write_text("age,crp,label\n1,2,ill\n")
    lenient = Layout(choice=TableChoice(drop=("ward",), id_column="pid", strict=False))
    assert read_samples(tmp_path / "u.csv", layout=lenient).ids == ("1",)


@pytest.mark.parametrize(
    ("given", "cause"),
    [
        ({"columns": "a", "drop": "a"}, "'a' is named as a feature and as none"),
        ({"columns": "a,,b"}, "an empty name"),
        ({"drop": "a,a"}, "or one twice"),
        ({"encoding": "utf-99"}, "'utf-99' is no encoding"),
        ({"encoding": "zip"}, "'zip' is no encoding"),
    ],
)
def test_choices_that_are_none(given: dict[str, str], cause: str) -> None:
    with pytest.raises(ConfigError, match=cause):
        TableChoice.of(given)


def test_a_choice_goes_through_a_node_config() -> None:
    choice = TableChoice.of({"columns": '"weight, kg",age', "drop": 'a "b"', "id-column": "pid", "encoding": "latin-1"})
    assert choice.keep == ("weight, kg", "age")
    assert TableChoice.of(choice.to_config()) == choice


@pytest.mark.parametrize("name", ["Unnamed: 0", "__index_level_0__", ""])
def test_an_index_of_pandas_is_left_out_and_noted_unless_somebody_means_it(name: str, tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text(f"{name},crp,label\n0,1.5,a\n1,2.5,b\n2,3.5,a\n")
    assert read_samples(file).columns == ("crp",)
    (remark,) = [line for line in check_data(file).remarks if "index of rows" in line]
    assert repr(name) in remark
    if name:
        assert read_samples(file, layout=Layout(choice=TableChoice(keep=(name, "crp")))).columns == (name, "crp")
        assert read_samples(file, layout=Layout(WantedColumns((name, "crp")))).columns == (name, "crp")


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_column_of_groups_is_no_feature(suffix: str, tmp_path: Path) -> None:
    file = tmp_path / f"t{suffix}"
    chosen(file, "patient,age,label\nA,1,ill\nB,3,well\nA,5,ill\n", columns="age")
    samples = read_samples(file, layout=Layout(group_column="patient"))
    assert (samples.columns, samples.groups) == (("age",), ("A", "B", "A"))
    with pytest.raises(DataError, match="no column 'pat' for the groups, but patient, age, label"):
        read_samples(file, layout=Layout(group_column="pat"))
    new = Layout(choice=TableChoice(keep=("age",)), group_column="pat")
    assert read_samples(file, labelled=False, layout=new).groups is None
    chosen(file, "patient,age,label\nA,1,ill\n,3,well\n", columns="age")
    with pytest.raises(DataError, match=r"No group in 1 of 2 rows \(the first is row 2\)"):
        read_samples(file, layout=Layout(group_column="patient"))
