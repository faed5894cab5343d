"""Random spoilt tables of numbers, as a site reads new data for a model.

Each has known values and one to three faults that exports of hospitals have had. It is read with the model's columns,
the federation's rules and the comparison of scale.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from pfedgp_core.column_rules import rules_text
from pfedgp_core.data.own.class_ids import map_classes
from pfedgp_core.data.own.model_scale import scale_notes
from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.data.own.samples import Layout
from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.errors import DataError

__all__ = ["FAULTS", "Sheet", "judged", "spoilt", "tried"]

NAMES = ("age", "crp", "bmi")
CLASSES = ("gesund", "rückfall")
RANGES = {"age": (18, 110), "crp": (-3, 5), "bmi": (10, 60)}
RULES = rules_text({name: {"kind": "number", "low": low, "high": high} for name, (low, high) in RANGES.items()})
ROWS = 40
MEAN, STD = np.array([61.0, 0.6, 25.5]), np.array([9.0, 0.5, 3.0])


@dataclass
class Sheet:
    """A table before it is written."""

    head: list[str]
    rows: list[list[str]]
    separator: str = ","
    encoding: str = "utf-8"
    newline: str = "\n"
    before: str = ""
    after: str = ""
    end: str = ""
    quoted: bool = False
    faults: list[str] = field(default_factory=list)

    def content(self) -> bytes:
        """The file."""
        mark = '"' if self.quoted else ""
        lines = [
            self.separator.join(f"{mark}{cell}{mark}" for cell in row) + self.end for row in [self.head, *self.rows]
        ]
        return self.newline.join([*([self.before] if self.before else []), *lines, self.after]).encode(
            self.encoding, "replace"
        )


Fault = Callable[[random.Random, Sheet], None]


def _any_row(rng: random.Random, sheet: Sheet) -> list[str]:
    return sheet.rows[rng.randrange(len(sheet.rows))]


def _place(sheet: Sheet, rng: random.Random) -> int:
    known = [i for i, name in enumerate(sheet.head) if name in NAMES]
    return rng.choice(known) if known else 0


def _reorder(rng: random.Random, sheet: Sheet) -> None:
    order = rng.sample(range(len(sheet.head)), len(sheet.head))
    sheet.head = [sheet.head[i] for i in order]
    sheet.rows = [[row[i] for i in order] for row in sheet.rows]


def _rename(rng: random.Random, sheet: Sheet) -> None:
    place = rng.randrange(len(sheet.head))
    sheet.head[place] = rng.choice([sheet.head[place].upper(), "alter", f" {sheet.head[place]} ", "", "age"])


def _unit(rng: random.Random, sheet: Sheet) -> None:
    place, factor = _place(sheet, rng), rng.choice([10, 1000, 1e-3, 1e-4])
    for row in sheet.rows:
        if _is_number(row[place]):
            row[place] = f"{float(row[place]) * factor:.6g}"


def _swap(rng: random.Random, sheet: Sheet) -> None:
    places = [i for i, name in enumerate(sheet.head) if name in NAMES]
    if len(places) > 1:
        one, other = rng.sample(places, 2)
        sheet.head[one], sheet.head[other] = sheet.head[other], sheet.head[one]


def _cell(rng: random.Random, sheet: Sheet) -> None:
    odd = [
        "",
        "-999",
        "9999",
        "<0.5",
        "n/a",
        "5.1 mg",
        "1_0",
        "TRUE",
        "2024-01-01",
        "1,234.5",
        "\u0661",
        "0x10",
        "1e400",
    ]
    _any_row(rng, sheet)[_place(sheet, rng)] = rng.choice(odd)


def _encoding(rng: random.Random, sheet: Sheet) -> None:
    sheet.encoding = rng.choice(
        ["utf-8-sig", "utf-16", "utf-16-le", "cp1252", "cp850", "mac-roman", "cp1250", "utf-32"]
    )


def _dialect(rng: random.Random, sheet: Sheet) -> None:
    sheet.separator = rng.choice(";|\t,")
    sheet.newline = rng.choice(["\n", "\r\n", "\r"])
    if rng.random() < 0.5:
        sheet.before = rng.choice([f"sep={sheet.separator}", "# exported", "", "\n"])
    sheet.quoted = rng.random() < 0.3
    if sheet.separator != "," or sheet.quoted or rng.random() < 0.3:
        sheet.rows = [[c.replace(".", ",") if _is_number(c) else c for c in row] for row in sheet.rows]


def _ends(rng: random.Random, sheet: Sheet) -> None:
    sheet.end = sheet.separator * rng.randrange(3)
    sheet.after = rng.choice(["", sheet.separator * 4, "Total: 40", sheet.separator.join(sheet.head), "\n\n"])


def _head(rng: random.Random, sheet: Sheet) -> None:
    if rng.random() < 0.5:
        sheet.head = sheet.rows.pop(0)
    else:
        sheet.before = rng.choice(["Clinic North, export of May", "# " + sheet.separator.join(sheet.head)])


def _ragged(rng: random.Random, sheet: Sheet) -> None:
    row = _any_row(rng, sheet)
    if rng.random() < 0.5:
        row.pop(rng.randrange(len(row)))
    else:
        row.insert(rng.randrange(len(row) + 1), rng.choice(["", "1.5"]))


def _copies(rng: random.Random, sheet: Sheet) -> None:
    sheet.rows += [list(row) for row in rng.choices(sheet.rows, k=5)]


def _extra(rng: random.Random, sheet: Sheet) -> None:
    name = rng.choice(["Unnamed: 0", "__index_level_0__", "", "pid", "ward"])
    place = 0 if not name else rng.randrange(len(sheet.head) + 1)
    sheet.head.insert(place, name)
    for number, row in enumerate(sheet.rows):
        row.insert(min(place, len(row)), f"P{number}" if name == "pid" else str(number))


def _labels(rng: random.Random, sheet: Sheet) -> None:
    odd = rng.choice([str.upper, lambda text: f" {text} ", str.title, lambda _: "gesnud", lambda _: "", lambda _: "0"])
    row = _any_row(rng, sheet)
    for i, cell in enumerate(row):
        if cell in CLASSES:
            row[i] = odd(cell)


# In the order in which they are made, where a table has several.
FAULTS: dict[str, Fault] = {
    "unit": _unit,
    "names swapped": _swap,
    "labels": _labels,
    "odd cell": _cell,
    "more columns": _extra,
    "order": _reorder,
    "name": _rename,
    "copies": _copies,
    "dialect": _dialect,
    "encoding": _encoding,
    "ends of lines": _ends,
    "ragged row": _ragged,
    "line of names": _head,
}


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _truth(rng: random.Random) -> list[list[str]]:
    classes = [i % 2 for i in range(ROWS)]
    means = ((55, 0.3, 24), (68, 0.9, 27))
    spread = (6, 0.4, 3)
    return [[*(f"{rng.gauss(means[c][i], spread[i]):.4f}" for i in range(3)), CLASSES[c]] for c in classes]


def spoilt(seed: int) -> tuple[Sheet, list[list[str]]]:
    """A spoilt table, and the rows [age, crp, bmi, class] that it was."""
    rng = random.Random(seed)  # noqa: S311
    truth = _truth(rng)
    sheet = Sheet([*NAMES, "label"], [list(row) for row in truth])
    for name in sorted(rng.sample(list(FAULTS), rng.randint(1, 3)), key=list(FAULTS).index):
        FAULTS[name](rng, sheet)
        sheet.faults.append(name)
    return sheet, truth


def judged(file: Path, truth: list[list[str]]) -> str:
    """``refused``, ``noted`` or ``read``; ``WRONG`` where it was read without a word and is not what it was."""
    layout = Layout(WantedColumns(NAMES), rules=RULES)
    try:
        samples = read_samples(file, input_shape=(3,), layout=layout)
        classes = map_classes(samples.labels or (), CLASSES)
    except DataError:
        return "refused"
    values = np.array([row[:3] for row in truth], np.float64).astype(np.float32)
    if notes := scale_notes(samples.inputs, samples.columns, MEAN, STD):
        other = [i for i in range(3) if set(samples.inputs[:, i].tolist()) != set(values[:, i].tolist())]
        return "noted" if all(repr(NAMES[i]) in " ".join(notes) for i in other) else "WRONG"
    found = Counter((*row, int(c)) for row, c in zip(samples.inputs.tolist(), classes, strict=True))
    wanted = Counter((*row, CLASSES.index(text[3])) for row, text in zip(values.tolist(), truth, strict=True))
    return "read" if wanted <= found and set(found) == set(wanted) else "WRONG"


def tried(seed: int, folder: Path) -> tuple[list[str], str]:
    """The faults of one table, and how it was judged."""
    sheet, truth = spoilt(seed)
    (folder / "t.csv").write_bytes(sheet.content())
    return sheet.faults, judged(folder / "t.csv", truth)
