"""A federation of tables with texts, gaps and limits: its rules make the inputs, and the result is that of numbers."""

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.column_rules import rules_text
from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from server.run.model_file import load_model
from tests.federation_run import Run, start
from tests.own_sites import OwnGrid
from tests.ward_tables import THREE_SITES

pytestmark = pytest.mark.slow

INPUTS = ("age", "sex=m", "crp", "crp missing")
RULES = rules_text(
    {
        "sex": {"kind": "category", "values": ["f", "m"], "also": {"weiblich": "f", "Mann": "m"}},
        "crp": {"kind": "number", "missing": 0.5, "indicator": True, "censored": "limit", "codes": [-999]},
        "ward": {"kind": "ignore"},
    }
)


def patients(seed: int, n: int = 30) -> list[list[float]]:
    """Rows of `INPUTS` and the class; the gaps are at the first site alone."""
    draw = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        ill, gap = i % 2, seed == 0 and i % 7 == 0
        crp = 0.5 if gap else round(0.1 + ill + abs(float(draw.normal())), 3)
        rows.append([round(50 + 8 * ill + 6 * float(draw.normal()), 2), float(draw.integers(2)), crp, float(gap), ill])
    return rows


def as_numbers(path: Path, seed: int) -> Path:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([[*INPUTS, "label"], *patients(seed)])
    return path


def as_exported(path: Path, seed: int) -> Path:
    """The same as the site's own systems write it: other words, orders, marks and columns."""
    sexes = (("f", "m"), ("weiblich", "Mann"), ("f", "Mann"))[seed]
    order = (0, 1, 2, 3, 4) if seed != 1 else (4, 3, 2, 1, 0)
    rows = [["age", "sex", "crp", "ward", "label"]]
    for i, (age, sex, crp, gap, ill) in enumerate(patients(seed)):
        shown = ("", "-999")[i % 2] if gap else f"<{crp}" if i % 5 == 1 else f"{crp}"
        rows.append([f"{age}", sexes[int(sex)], shown, f"W{i}", f"{ill}"])
    lines = [";".join(row[place] for place in order).replace(".", ",") for row in rows]
    path.write_text("\r\n".join(lines), encoding="utf-8-sig")
    return path


def run(root: Path, write: Callable[[Path, int], Path], settings: Settings) -> Run:
    root.mkdir()
    sites: dict[str, Path | str] = {f"ward-{i}": write(root / f"{i}.csv", i) for i in range(3)}
    return start(OwnGrid(sites), settings, root / "run")


def test_a_run_with_rules_has_the_bits_of_one_with_numbers(tmp_path: Path) -> None:
    numbers = run(tmp_path / "numbers", as_numbers, THREE_SITES)
    exported = run(tmp_path / "exported", as_exported, THREE_SITES.replace(column_rules=RULES))
    assert exported.model("final").tobytes() == numbers.model("final").tobytes()
    assert exported.lasting == numbers.lasting
    assert load_model(exported.path / "final")[1]["columns"] == list(INPUTS)


def test_without_rules_the_sites_are_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(RunFailedError):
        run(tmp_path / "none", as_exported, THREE_SITES.replace(wait_timeout=1.0))
    assert "agree on a rule for it" in caplog.text
