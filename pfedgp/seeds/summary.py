"""Mean and standard deviation of each result over seeds."""

import json
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pfedgp_core.files.whole import write_whole
from server.report.wording import is_share, measure, metric_behind, title

__all__ = ["seed_lines", "seed_results", "write_seeds"]

_ENDS = ("_low", "_high")


def seed_results(summaries: Sequence[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Each metric that all seeds have: its values, their mean, and their standard deviation (divisor n - 1).

    Parameters
    ----------
    summaries : sequence of dict
        The content of ``summary.json``, two or more.
    """
    keys = [key for key in summaries[0] if metric_behind(key) is not None and not key.endswith(_ENDS)]
    results = {}
    for key in keys:
        values = [float(s[key]) for s in summaries if isinstance(s.get(key), int | float)]
        if len(values) == len(summaries):
            results[key] = {"mean": statistics.fmean(values), "sd": statistics.stdev(values), "values": values}
    return results


def write_seeds(path: Path, seeds: Sequence[int], results: dict[str, dict[str, Any]]) -> None:
    """Write ``seeds.json``."""
    write_whole(path / "seeds.json", json.dumps({"seeds": list(seeds), "results": results}, indent=2) + "\n")


def seed_lines(seeds: Sequence[int], results: dict[str, dict[str, Any]]) -> list[str]:
    """The table for the console: mean, standard deviation, and the value of each seed."""
    rows = [["", "mean", "SD", *(f"seed {seed}" for seed in seeds)]]
    for key, found in results.items():
        deviation = measure(key, found["sd"])
        if is_share(key):
            deviation = deviation.replace("%", "points")
        rows.append([title(key), measure(key, found["mean"]), deviation, *(measure(key, v) for v in found["values"])])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
