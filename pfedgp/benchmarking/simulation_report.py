"""The benchmark of simulations as a table, a line as soon as a simulation is measured, and as JSON."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

__all__ = ["footer", "growth", "header", "line"]

_COLUMNS = (
    ("clients", 7),
    ("engine", 6),
    ("rounds", 6),
    ("rounds/s", 8),
    ("s/round", 7),
    ("quartiles", 11),
    ("driver CPU s", 12),
    ("others CPU s", 12),
    ("CPU s/round", 11),
    ("of clients", 10),
    ("overhead", 8),
    ("start s", 7),
    ("MB", 5),
    ("load", 5),
)
FROM, TO = 500, 5000  # clients, between which the driver's time is compared


def header() -> str:
    """Titles of the table's columns."""
    return _joined([title for title, _ in _COLUMNS])


def line(result: Mapping[str, Any]) -> str:
    """One measured simulation."""
    low, high = result["round_quartiles_s"]
    client, overhead = result["client_cpu_s"], result["overhead"]
    return _joined(
        [
            str(result["clients"]),
            result["kind"],
            str(result["rounds"]),
            f"{result['rounds_per_s']:.2f}",
            f"{result['round_s']:.3f}",
            f"{low:.3f}-{high:.3f}",
            f"{result['driver_cpu_s']:.4f}",
            f"{result['others_cpu_s']:.4f}",
            f"{result['cpu_s']:.4f}",
            "" if client is None else f"{client:.4f}",
            "" if overhead is None else f"{overhead:.1%}",
            f"{result['start_s']:.1f}",
            f"{result['mb']:.0f}",
            f"{result['load']:.1f}",
        ]
    )


def growth(results: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """How many times more CPU a driver takes a round with `TO` clients than with `FROM`, by kind; medians."""
    found = {}
    for kind in dict.fromkeys(result["kind"] for result in results):
        cpu = {n: [r["driver_cpu_s"] for r in results if r["kind"] == kind and r["clients"] == n] for n in (FROM, TO)}
        if all(cpu.values()):
            found[kind] = median(cpu[TO]) / median(cpu[FROM])
    return found


def footer(results: Sequence[Mapping[str, Any]]) -> str:
    """How to read the table."""
    lines = [
        "",
        "pool: pfedgp simulate. ray: pfedgp simulate --engine ray. flower: FedAvg by Flower's own strategy on Flower's",
        "own engine, with the same network. CPU s: of all processes, in the measured rounds of 5 clients each, for a",
        "round; of clients: what their updates took; overhead: all the rest, in parts of that.",
    ]
    lines += [
        f"The driver of {kind} takes {times:.2f} times as much CPU a round with {TO} clients as with {FROM}."
        for kind, times in growth(results).items()
    ]
    return "\n".join(lines)


def _joined(cells: Sequence[str]) -> str:
    return "  ".join(f"{cell:>{width}}" for cell, (_, width) in zip(cells, _COLUMNS, strict=True))
