"""Faults of tables of texts, truth values, dates, gaps and patients: ways in which people and programs write cells."""

import datetime
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from pfedgp_core.column_rules import column_rules, rules_text

__all__ = ["CLASSES", "FAULTS", "INPUTS", "RULES", "Mixed", "start"]

CLASSES = ("gesund", "krank")
RULES = rules_text(
    {
        "age": {"kind": "number", "low": 18, "high": 110},
        "crp": {
            "kind": "number",
            "codes": [-999],
            "censored": "half",
            "missing": 2.5,
            "indicator": True,
            "low": 0,
            "high": 600,
        },
        "sex": {"kind": "category", "values": ["f", "m"], "also": {"female": "f", "male": "m"}},
        "stage": {"kind": "category", "values": ["1", "2", "3"], "missing": "1", "indicator": True},
        "smoker": {"kind": "boolean"},
        "visit": {"kind": "date"},
    }
)
INPUTS = column_rules(RULES).inputs(("age", "crp", "sex", "stage", "smoker", "visit"))
FIRST = datetime.date(2023, 1, 2)
ROWS, PATIENTS = 40, 12


@dataclass
class Mixed:
    """A table before it is written, and what it says.

    Attributes
    ----------
    columns : dict of str to list
        Cells: texts, numbers, truth values, dates; None is a gap.
    truth : list of tuple
        The inputs of each row, its class and its patient.
    """

    columns: dict[str, list[Any]]
    truth: list[tuple[list[float], int, str]]
    parquet: bool = False
    separator: str = ","
    faults: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        """Write the file and say where it is."""
        if self.parquet:
            import pyarrow
            from pyarrow import parquet

            made = {name: _arrow(cells) for name, cells in self.columns.items()}
            parquet.write_table(pyarrow.table(made), folder / "t.parquet")
            return folder / "t.parquet"
        lines = zip(*self.columns.values(), strict=True)
        rows = [["" if cell is None else _text(cell) for cell in line] for line in lines]
        text = "\n".join(self.separator.join(row) for row in [list(self.columns), *rows])
        (folder / "t.csv").write_text(text + "\n", encoding="utf-8")
        return folder / "t.csv"


def _text(cell: Any) -> str:
    if isinstance(cell, bytes):
        return cell.decode()
    return cell.isoformat(" ") if isinstance(cell, datetime.datetime) else str(cell)


def _arrow(cells: list[Any]) -> Any:
    import pyarrow

    kinds = {type(cell) for cell in cells if cell is not None}
    if len(kinds) == 1 or kinds == {int, float}:
        return pyarrow.array(cells)
    return pyarrow.array([None if cell is None else _text(cell) for cell in cells])


def start(rng: random.Random) -> Mixed:
    """A table without a fault."""
    columns: dict[str, list[Any]] = {name: [] for name in ("pid", "age", "crp", "sex", "stage", "smoker", "visit")}
    columns |= {"patient": [], "label": []}
    truth = []
    for row in range(ROWS):
        age, crp, male, stage = (
            rng.randint(30, 90),
            round(rng.uniform(0.5, 80), 3),
            rng.random() < 0.5,
            rng.randint(1, 3),
        )
        smoker, day, patient = rng.random() < 0.3, rng.randrange(700), f"P{rng.randrange(1, PATIENTS + 1)}"
        cells = [f"A{row}", age, crp, "m" if male else "f", stage, smoker, FIRST + datetime.timedelta(day), patient]
        for name, cell in zip(columns, [*cells, CLASSES[row % 2]], strict=True):
            columns[name].append(cell)
        since = (FIRST - datetime.date(1970, 1, 1)).days + day
        inputs = [age, crp, 0, male, stage == 2, stage == 3, 0, smoker, since]
        truth.append((list(map(float, inputs)), row % 2, patient))
    return Mixed(columns, truth)


Fault = Callable[[random.Random, Mixed], None]


def _some(rng: random.Random) -> list[int]:
    return rng.sample(range(ROWS), rng.choice([1, 3, ROWS]))


def _place(name: str) -> int:
    return INPUTS.index(name)


def _sex(rng: random.Random, table: Mixed) -> None:
    ways = {
        "f": ["F", " f", "female", "Female", "weiblich", "w", "0", "f."],
        "m": ["M", "m ", "male", "MALE", "1", "true"],
    }
    cells = table.columns["sex"]
    for row in _some(rng):
        cells[row] = rng.choice(ways["m" if table.truth[row][0][_place("sex=m")] else "f"])


def _stage(rng: random.Random, table: Mixed) -> None:
    way = rng.choice([lambda s: f"{s}.0", lambda s: "I" * s, lambda s: f"0{s}", float, str, lambda s: f"{s}a", Decimal])
    cells = table.columns["stage"]
    for row in _some(rng):
        cells[row] = way(int(cells[row]))


def _smoker(rng: random.Random, table: Mixed) -> None:
    ways = [
        ("no", "yes"),
        ("nein", "ja"),
        (0, 1),
        ("0.0", "1.0"),
        ("FALSE", "TRUE"),
        ("n", "y"),
        (2, 1),
        ("-", "+"),
        ("False", ""),
    ]
    way, cells = rng.choice(ways), table.columns["smoker"]
    for row in _some(rng):
        cells[row] = way[int(table.truth[row][0][_place("smoker")])]


def _visit(rng: random.Random, table: Mixed) -> None:
    noon = datetime.time(0, 0)
    ways: list[Callable[[datetime.date], Any]] = [
        lambda d: d.strftime("%d.%m.%Y"),
        lambda d: d.strftime("%m/%d/%Y"),
        lambda d: d.strftime("%d/%m/%y"),
        lambda d: d.strftime("%Y%m%d"),
        lambda d: d.strftime("%Y-%m-%dT%H:%M"),
        lambda d: d.strftime("%y-%m-%d"),
        lambda d: d.strftime("%G-W%V-%u"),
        lambda d: (d - datetime.date(1899, 12, 30)).days,
        lambda d: datetime.datetime.combine(d, noon),
        lambda d: datetime.datetime.combine(d, noon, datetime.UTC),
        lambda d: str(datetime.datetime.combine(d, noon)),
    ]
    way, cells = rng.choice(ways), table.columns["visit"]
    for row in _some(rng):
        cells[row] = way(cells[row])


def _crp(rng: random.Random, table: Mixed) -> None:
    """Limits, gaps and their codes, of which the rule knows some."""
    cells, at = table.columns["crp"], _place("crp")
    half: list[tuple[Any, list[float] | None]] = [("<5", [2.5, 0.0]), ("< 5", [2.5, 0.0]), (">90", [90.0, 0.0])]
    gaps: list[tuple[Any, list[float] | None]] = [
        (gap, [2.5, 1.0]) for gap in (None, "NA", "", "-999", -999, "null", "-999.0")
    ]
    nothing: list[tuple[Any, list[float] | None]] = [
        (odd, None) for odd in ("-", "?", "-998", "5 mg/l", "neg", 9999, "<", "1e3", "5-6")
    ]
    for row in _some(rng):
        cells[row], meant = rng.choice(half + gaps + nothing)
        table.truth[row][0][at : at + 2] = [math.nan, math.nan] if meant is None else meant


def _unit(rng: random.Random, table: Mixed) -> None:
    """Ages in months or as years of birth, in some rows or all."""
    way = rng.choice([lambda age: age * 12, lambda age: 2024 - age, lambda age: f"{age} y", lambda age: age / 100])
    cells = table.columns["age"]
    for row in _some(rng):
        cells[row] = way(cells[row])


def _types(rng: random.Random, table: Mixed) -> None:
    name = rng.choice(["age", "crp", "stage", "smoker", "label", "patient", "sex"])
    way = rng.choice([str, str.encode, Decimal, float])
    try:
        table.columns[name] = [way(str(cell)) if cell is not None else None for cell in table.columns[name]]
    except (ArithmeticError, ValueError, TypeError):
        table.columns[name] = [None if cell is None else str(cell) for cell in table.columns[name]]


def _gap(rng: random.Random, table: Mixed) -> None:
    name = rng.choice(["age", "sex", "stage", "smoker", "visit", "patient", "label", "pid"])
    rows = [rng.randrange(ROWS)]
    for row in rows:
        table.columns[name][row] = rng.choice([None, "NA", " ", "nan"])
        if name == "stage":
            table.truth[row][0][_place("stage=2") : _place("stage missing") + 1] = [0.0, 0.0, 1.0]
        elif name != "pid":
            table.truth[row][0][0] = math.nan


def _patient(rng: random.Random, table: Mixed) -> None:
    way = rng.choice([lambda p: f" {p} ", str.lower, lambda p: p[1:], lambda p: f"P0{p[1:]}", lambda p: f"P {p[1:]}"])
    cells = table.columns["patient"]
    if rng.random() < 0.4:  # numbers, as spreadsheets write them
        cells[:] = [cell[1:] for cell in cells]
        way = rng.choice([lambda p: f"{p}.0", lambda p: f"0{p}", lambda p: f"{p}.", lambda p: f"{p} "])
    for row in rng.sample(range(ROWS), 10):
        cells[row] = way(cells[row])


def _copies(rng: random.Random, table: Mixed) -> None:
    for row in rng.choices(range(ROWS), k=4):
        for cells in table.columns.values():
            cells.append(cells[row])
        table.columns["pid"][-1] = f"C{len(table.truth)}"
        table.columns["patient"][-1] = f"P9{len(table.truth)}"
        table.truth.append((list(table.truth[row][0]), table.truth[row][1], table.columns["patient"][-1]))


def _columns(rng: random.Random, table: Mixed) -> None:
    names = list(table.columns)
    rng.shuffle(names)
    table.columns = {name: table.columns[name] for name in names}
    way, name = rng.randrange(4), rng.choice(names)
    if way == 0:
        table.columns["ward"] = [rng.choice("AB") for _ in table.truth]
    elif way == 1:
        del table.columns[name]
    elif way == 2:
        renamed = {"sex": "gender", "age": "Age"}.get(name, f" {name} ")
        table.columns = {renamed if n == name else n: cells for n, cells in table.columns.items()}


def _label(rng: random.Random, table: Mixed) -> None:
    ways = [
        str.upper,
        str.title,
        lambda c: f"{c} ",
        lambda _: "",
        lambda c: str(1 + CLASSES.index(c)),
        lambda c: f"{c}\u00a0",
        lambda c: f"{c}er",
    ]
    way, cells = rng.choice(ways), table.columns["label"]
    for row in _some(rng):
        cells[row] = way(cells[row])
        if cells[row] == "":
            table.truth[row][0][0] = math.nan


# In the order in which they are made, where a table has several.
FAULTS: dict[str, Fault] = {
    "category": _sex,
    "category of numbers": _stage,
    "truth values": _smoker,
    "dates": _visit,
    "limits and codes": _crp,
    "unit": _unit,
    "labels": _label,
    "patients": _patient,
    "gap": _gap,
    "types": _types,
    "copies": _copies,
    "columns": _columns,
}
