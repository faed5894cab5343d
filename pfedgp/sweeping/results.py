"""What a sweep has found: each candidate with its mean score on validation data, and its test results beside it."""

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfedgp.sweeping.choices import Candidate, as_assignments
from pfedgp_core.errors import RunFailedError
from pfedgp_core.files.csv_text import csv_text
from pfedgp_core.files.whole import write_whole
from server.report.wording import measure, metric_behind, title

__all__ = ["Tried", "best_of", "score_key", "sweep_lines", "write_sweep"]

_BEFORE = "validation_"
SHOWN = 30  # rows on the console


@dataclass(frozen=True)
class Tried:
    """A candidate and the summaries of its completed runs, one a seed; fewer where some failed."""

    candidate: Candidate
    folder: str
    summaries: tuple[Mapping[str, Any], ...]
    seeds: int

    @property
    def whole(self) -> bool:
        """Whether all of its runs have completed."""
        return len(self.summaries) == self.seeds

    def mean(self, key: str) -> float | None:
        """Mean over seeds; None where a run failed or has no such number."""
        values = self.values(key)
        return statistics.fmean(values) if self.whole and len(values) == self.seeds else None

    def values(self, key: str) -> list[float]:
        """Of each completed run."""
        return [float(s[key]) for s in self.summaries if isinstance(s.get(key), int | float)]


def score_key(summary: Mapping[str, Any]) -> tuple[str, bool]:
    """The measure on validation data by which runs choose their best model, and whether larger is better.

    Raises
    ------
    RunFailedError
        The run has none: without validation samples there is nothing to choose by.
    """
    for key in summary:
        metric = metric_behind(key)
        if key.startswith(_BEFORE) and metric is not None and summary[key] is not None:
            return key, metric.better == "higher"
    raise RunFailedError("The runs have no results on validation data, so no settings can be chosen: see their logs.")


def best_of(tried: Sequence[Tried], key: str, larger: bool) -> Tried | None:
    """The candidate with the best mean on validation data, the first of several; None where all failed."""
    scored = [(each, score) for each in tried if (score := each.mean(key)) is not None]
    if not scored:
        return None
    return max(scored, key=lambda pair: pair[1] if larger else -pair[1])[0]


def write_sweep(path: Path, tried: Sequence[Tried], key: str, larger: bool) -> None:
    """Write ``sweep.csv``, a row a candidate, and ``sweep.json``."""
    own = key.removeprefix(_BEFORE)
    columns = list(dict.fromkeys(name for each in tried for name in each.candidate))
    rows = [
        [
            *(each.candidate.get(name, "") for name in columns),
            len(each.summaries),
            *_cells(each, key),
            *_cells(each, own),
            each.folder,
        ]
        for each in tried
    ]
    head = [*columns, "completed", key, f"{key}_sd", f"test_{own}", f"test_{own}_sd", "folder"]
    write_whole(path / "sweep.csv", csv_text(head, rows))
    best = best_of(tried, key, larger)
    about = {
        "chosen_by": key,
        "better": "larger" if larger else "smaller",
        "best": None if best is None else best.candidate,
        "tried": [
            {
                "settings": each.candidate,
                "folder": each.folder,
                "seeds": each.seeds,
                key: each.values(key),
                own: each.values(own),
            }
            for each in tried
        ],
    }
    write_whole(path / "sweep.json", json.dumps(about, indent=2) + "\n")


def _cells(tried: Tried, key: str) -> tuple[Any, Any]:
    """Mean and standard deviation over seeds; empty where there is none."""
    values, mean = tried.values(key), tried.mean(key)
    return ("" if mean is None else mean), (statistics.stdev(values) if mean is not None and len(values) > 1 else "")


def sweep_lines(tried: Sequence[Tried], key: str, larger: bool) -> list[str]:
    """The table for the console, the best first, and what to give for it."""
    own, best = key.removeprefix(_BEFORE), best_of(tried, key, larger)
    ordered = sorted(tried, key=lambda each: _rank(each.mean(key), larger))
    rows = [[title(key), f"test {title(own)}", "settings"]]
    rows += [
        [
            measure(key, each.mean(key)) if each.whole else "failed",
            measure(own, each.mean(own)) if each.whole else "",
            " ".join(as_assignments(each.candidate)),
        ]
        for each in ordered[:SHOWN]
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    if len(ordered) > SHOWN:
        lines.append(f"... and {len(ordered) - SHOWN} more, all in sweep.csv")
    if best is not None:
        given = " ".join(f"--set {assignment}" for assignment in as_assignments(best.candidate))
        lines += ["", f"best on validation data: {given}"]
        lines.append("Chosen among several, that number is too good; the test data had no part in the choice.")
    return lines


def _rank(score: float | None, larger: bool) -> tuple[bool, float]:
    return score is None, 0.0 if score is None else (-score if larger else score)
