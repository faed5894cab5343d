"""The benchmark as JSON and as a table: a line as soon as a case is measured."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from pfedgp.benchmarking.authors import LABEL, authors_ratio
from pfedgp.benchmarking.cases import Case
from pfedgp.benchmarking.warm_start import CIFAR10_SPECTRUM
from server.run.files import write_whole

__all__ = ["footer", "header", "line", "scaling", "write"]

_COLUMNS = (
    ("variant", 10),
    ("classes", 7),
    ("n", 6),
    ("update s", 8),
    ("epoch s", 7),
    ("ratio", 6),
    ("quartiles", 11),
    ("authors", 7),
    ("network", 7),
    ("gp", 6),
    ("other", 6),
    ("evaluate s", 10),
    ("predict s", 9),
    ("peak MB", 7),
    ("eig>0.1", 7),
)


def header() -> str:
    """Titles of the table's columns."""
    return _joined([title for title, _ in _COLUMNS])


def line(result: Mapping[str, Any]) -> str:
    """One measured case."""
    low, high = result["ratio_quartiles"]
    authors = authors_ratio(Case(result["variant"], result["classes"], result["n"]))
    total = sum(result["phases"].values())
    shares = {name: seconds / total for name, seconds in result["phases"].items()}
    network, gp = shares.get("network", 0.0), shares.get("gp", 0.0)
    cells = [
        result["variant"],
        str(result["classes"]),
        str(result["n"]),
        f"{result['update_cpu_s']:.4f}",
        f"{result['epoch_cpu_s']:.4f}",
        f"{result['ratio']:.2f}",
        f"{low:.2f}-{high:.2f}",
        f"{authors:.1f}" if authors is not None else "",
        f"{network:.0%}",
        f"{gp:.0%}",
        f"{1 - network - gp:.0%}",
        f"{result['evaluate_cpu_s']:.4f}",
        f"{result['predict_cpu_s']:.4f}",
        f"{result['peak_mb']:.0f}",
        str(result["eigenvalues_above_0.1"]),
    ]
    return _joined(cells)


def footer(report: Mapping[str, Any]) -> str:
    """How to read the table, and how cost grows from the smaller large case to the larger."""
    whole = "" if all(c["peak_of"] == "case" for c in report["cases"]) else " and all before it"
    lines = [
        "",
        "CPU seconds of one thread (on a GPU, wall time), medians. ratio: one client update over one plain",
        "cross-entropy epoch of the same network, median of pairs taken in turn, with quartiles. network, gp, other:",
        "shares of the update.",
        f"peak MB: resident memory of the whole process, in the case{whole}.",
        f"authors: the same ratio of {LABEL}.",
        "eig>0.1: eigenvalues above 0.1 of the kernel matrix of 400 images; after 1000 rounds on CIFAR-10 "
        + ", ".join(f"{count} with {classes} classes" for classes, count in CIFAR10_SPECTRUM.items())
        + ".",
    ]
    lines.extend(
        f"{growth['variant']}, {growth['classes']} classes, from {growth['from']} to {growth['to']} samples: "
        f"update time x {growth['update_ratio']:.1f}, evaluation time x {growth['evaluate_ratio']:.1f}."
        for growth in report["scaling"]
    )
    return "\n".join(lines)


def scaling(cases: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Growth of cost between neighbouring large cases that differ in n only."""
    large = [c for c in cases if Case(c["variant"], c["classes"], c["n"]).large]
    return [
        {
            "variant": a["variant"],
            "classes": a["classes"],
            "from": a["n"],
            "to": b["n"],
            "update_ratio": b["update_cpu_s"] / a["update_cpu_s"],
            "evaluate_ratio": b["evaluate_cpu_s"] / a["evaluate_cpu_s"],
        }
        for a, b in _neighbours(large)
    ]


def write(path: Path, report: Mapping[str, Any]) -> None:
    """Replace the file in one step."""
    write_whole(path, json.dumps(report, indent=2, allow_nan=False) + "\n")


def _neighbours(cases: Sequence[Mapping[str, Any]]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    by_classes: dict[int, list[Mapping[str, Any]]] = {}
    for case in cases:
        by_classes.setdefault(case["classes"], []).append(case)
    return [pair for same in by_classes.values() for pair in pairwise(same)]


def _joined(cells: Sequence[str]) -> str:
    texts = [
        f"{cell:<{width}}" if title == "variant" else f"{cell:>{width}}"
        for cell, (title, width) in zip(cells, _COLUMNS, strict=True)
    ]
    return "  ".join(texts)
