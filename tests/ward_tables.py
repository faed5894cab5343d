"""Tables of three wards whose categories differ, with gaps, and what pooling them by hand gives."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.column_rules import UNKNOWN, rules_text
from pfedgp_core.config import Settings
from tests.federation_run import QUICK

COLUMNS = ("age", "crp", "stage", "smoker")
STAGES = {0: ("I", "II"), 1: ("II", "III"), 2: ("IV", "I")}  # of each ward
ROWS = 40
THREE_SITES = Settings(
    network="mlp",
    clients_per_round=3,
    min_clients=3,
    rounds=3,
    evaluate_every=2,
    wait_timeout=20.0,
    personalise=False,
    gp=QUICK,
)
FEDERATED = THREE_SITES.replace(column_rules_from="federated")


def ward(seed: int, stages: tuple[str, ...] = (), n: int = ROWS) -> list[dict[str, str]]:
    """Rows of a ward; of ward 0 seven lack the CRP, and of each two have a stage that nobody else has."""
    draw, stages = np.random.default_rng(seed), stages or STAGES[seed % 3]
    rows = []
    for i in range(n):
        ill = i % 2
        rows.append(
            {
                "age": f"{50 + 8 * ill + 6 * float(draw.normal()):.2f}",
                "crp": "" if seed == 0 and i % 6 == 0 else f"{0.1 + ill + abs(float(draw.normal())):.3f}",
                "stage": f"rare-{seed}" if i in (3, 4) else stages[int(draw.integers(len(stages)))],
                "smoker": ("yes", "no")[int(draw.integers(5)) == 0],
                "label": ("well", "ill")[ill],
            }
        )
    return rows


def write(path: Path, rows: list[dict[str, str]], more: Mapping[str, Any] | None = None) -> Path:
    """Rows as CSV."""
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*(more or {}), *rows[0]])
        writer.writeheader()
        writer.writerows({**(more or {}), **row} for row in rows)
    return path


def three_wards(root: Path) -> dict[str, Path | str]:
    """A table of each ward, by site."""
    root.mkdir(parents=True, exist_ok=True)
    return {f"ward-{i}": write(root / f"{i}.csv", ward(i)) for i in range(3)}


def rules_by_hand() -> str:
    """The rules that a person makes of all rows together."""
    rows = [row for i in range(3) for row in ward(i)]
    mean = {name: np.mean([float(row[name]) for row in rows if row[name]]) for name in ("age", "crp")}
    stages = sorted({stage for held in STAGES.values() for stage in held})
    return rules_text(
        {
            "age": {"kind": "number", "missing": float(f"{mean['age']:.6g}"), "censored": "half"},
            "crp": {
                "kind": "number",
                "missing": float(f"{mean['crp']:.6g}"),
                "censored": "half",
                "indicator": True,
            },
            "stage": {"kind": "category", "values": [UNKNOWN, *stages], "other": UNKNOWN, "missing": UNKNOWN},
            "smoker": {"kind": "boolean", "missing": "true", "other": "true"},
        }
    )
