"""A run as named numbers, for tools that draw curves: those of a round, and those of the final test."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from server.report.reporters import client_measures, pooled_measures

__all__ = ["final_scalars", "round_scalars"]


def round_scalars(record: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The numbers of a round, by their tag: ``validation/accuracy``, ``seconds/train``, ``counters/...``."""
    for key, value in record.items():
        if key in ("round", "best"):
            continue
        if isinstance(value, Mapping) and key in ("seconds", "counters", "standard_errors"):
            for name, number in value.items():
                yield f"{key}/{name}", float(number)
        elif isinstance(value, Mapping):
            yield f"replies/{key}", float(len(value))  # the failed clients, by name
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield _tag(key), float(value)


def _tag(key: str) -> str:
    if key == "ok":
        return "replies/ok"
    group, separator, name = key.partition("_")
    return f"{group}/{name}" if separator else key


def final_scalars(rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """The pooled test results, and of each the smallest, middle and largest of the clients; no client is named."""
    for name, value in pooled_measures(summary).items():
        yield f"test/{name}", value
    for name, values in client_measures(rows).items():
        numbers = sorted(values.values())
        yield f"clients/{name}/smallest", numbers[0]
        yield f"clients/{name}/median", statistics.median(numbers)
        yield f"clients/{name}/largest", numbers[-1]
