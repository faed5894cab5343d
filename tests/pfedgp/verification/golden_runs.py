"""Runs the checker on cases in memory, through a file as a user would."""

import json
import tempfile
from pathlib import Path
from typing import Any

import torch

from pfedgp.verification.cases.format import load
from pfedgp.verification.runner import Result, verify

BOTH = (torch.float64, torch.float32)
BASELINES = Path(__file__).parents[2] / "golden" / "golden_baselines_public.json"


def results(cases: list[dict[str, Any]], *dtypes: torch.dtype) -> list[Result]:
    """What becomes of the asserts, in both precisions by default."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cases.json")
        path.write_text(json.dumps({"version": 1, "cases": cases}), encoding="utf-8")
        found = load(str(path))
    return list(verify(found, found, 0, dtypes or BOTH))


def failures(cases: list[dict[str, Any]], *dtypes: torch.dtype) -> list[str]:
    """Those that fail, as the verb prints them."""
    return [str(result) for result in results(cases, *dtypes) if result.status == "FAIL"]


def public(*topics: str) -> list[dict[str, Any]]:
    """The baselines' public cases of these topics, of all where none is named."""
    cases = json.loads(BASELINES.read_text(encoding="utf-8"))["cases"]
    return [case for case in cases if not topics or case["topic"] in topics]
