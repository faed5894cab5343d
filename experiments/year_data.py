"""Data of three wards for docs/year-at-a-ward.md, from the breast cancer data of scikit-learn.

    python experiments/year_data.py                  the tables of the wards, in this folder
    python experiments/year_data.py suggested.json   labelled.csv: what the doctor says of the suggested samples

In ward 3 one patient in nine has two samples. In june.csv a new microscope measures lengths too large.
"""

import csv
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

__all__ = ["main"]

PARTS = {  # samples
    "ward-1": 110,
    "ward-2": 110,
    "ward-3": 30,
    "pool": 110,
    "new": 40,
    "kept": 60,
    "spring": 45,
    "june": 60,
}
UNLABELLED = "pool", "spring", "june"
LENGTHS, AREAS = ("radius", "perimeter"), ("area",)
FACTOR = 2.0  # of the new microscope
Row = dict[str, str]


def tables() -> dict[str, list[Row]]:
    """The rows of all parts with their classes, the same in every call."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer()
    order = np.random.default_rng(0).permutation(len(found.target))
    made, first = {}, 0
    for part, count in PARTS.items():
        made[part] = [
            {
                **({} if part in ("ward-1", "ward-2") else {"id": f"s-{i:03}", "patient": f"p-{i - (i % 10 == 1):03}"}),
                **_measured(dict(zip(found.feature_names, found.data[row].tolist(), strict=True)), part == "june"),
                "label": str(found.target_names[found.target[row]]),
            }
            for i, row in enumerate(order[first : first + count], first)
        ]
        first += count
    return made


def _measured(values: dict[str, float], larger: bool) -> Row:
    """The columns as texts; a larger scale of lengths if wanted."""
    power = {name: any(word in name for word in LENGTHS) + 2 * any(word in name for word in AREAS) for name in values}
    return {name: f"{value * (FACTOR ** power[name] if larger else 1):g}" for name, value in values.items()}


def _write(name: str, rows: Sequence[Row], labelled: bool) -> None:
    with Path(f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        columns = [column for column in rows[0] if labelled or column != "label"]
        table = csv.DictWriter(file, columns, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)


def main(suggested: str = "") -> None:
    """Write all tables, or that of the suggested samples."""
    found = tables()
    if suggested:
        ids = {sample["id"] for sample in json.loads(Path(suggested).read_text(encoding="utf-8"))["samples"]}
        _write("labelled", [row for row in found["pool"] if row["id"] in ids], labelled=True)
        return
    for part, rows in found.items():
        _write(part, rows, labelled=part not in UNLABELLED)


if __name__ == "__main__":
    main(*sys.argv[1:])
