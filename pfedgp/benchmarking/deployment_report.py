"""The benchmark of deployed rounds as a table, a line as soon as a deployment is measured, and as JSON."""

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["footer", "header", "line", "with_ratios"]

_COLUMNS = (
    ("sites", 5),
    ("path", 5),
    ("database", 8),
    ("rounds", 6),
    ("s/round", 7),
    ("quartiles", 11),
    ("stock/this", 10),
    ("site CPU s/msg", 14),
    ("server CPU s/msg", 16),
    ("idle core", 9),
    ("site MB", 7),
    ("server MB", 9),
    ("load", 5),
)


def header() -> str:
    """Titles of the table's columns."""
    return _joined([title for title, _ in _COLUMNS])


def line(result: Mapping[str, Any]) -> str:
    """One measured deployment."""
    low, high = result["round_quartiles_s"]
    ratio = result.get("stock_ratio")
    return _joined(
        [
            str(result["sites"]),
            result["path"],
            "yes" if result["database"] else "no",
            str(result["rounds"]),
            f"{result['round_s']:.2f}",
            f"{low:.2f}-{high:.2f}",
            f"{ratio:.1f}" if ratio is not None else "",
            f"{result['site_cpu_s_per_message']:.3f}",
            f"{result['server_cpu_s_per_message']:.3f}",
            f"{result['idle_site_core']:.3f}",
            f"{result['site_mb']:.0f}",
            f"{result['server_mb']:.0f}",
            f"{result['load']:.1f}",
        ]
    )


def with_ratios(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Add how many times longer the stock path takes with as many sites, where it was measured.

    Parameters
    ----------
    results : sequence of mapping
        As ``deployment.measure`` returns them, in order.
    """
    stock = {result["sites"]: result["round_s"] for result in results if result["path"] == "stock"}
    return [
        {**result, "stock_ratio": stock[result["sites"]] / result["round_s"]}
        if result["sites"] in stock and result["path"] != "stock"
        else dict(result)
        for result in results
    ]


def footer(idle_seconds: float) -> str:
    """How to read the table."""
    return "\n".join(
        [
            "",
            "s/round: median seconds from the end of one round of training and evaluation to the end of the next.",
            "stock/this: how many times longer Flower's own SuperNode takes, measured in this run, with a database.",
            "CPU s/msg: of all processes of a site, and of the server with its app, in the measured rounds, for each",
            "request with its reply. idle core: share of a core that a waiting site uses, measured over",
            f"{idle_seconds:g} s before the run. MB: memory at the end, of a site and of the server with its app.",
        ]
    )


def _joined(cells: Sequence[str]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
