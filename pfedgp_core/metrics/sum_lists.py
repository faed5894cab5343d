"""Metric sums at several temperatures as flat lists of numbers, fit for a message."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from pfedgp_core.checks import MALFORMED
from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import MetricSums

__all__ = ["from_lists", "to_lists"]


def to_lists(prefix: str, sums: Sequence[MetricSums]) -> dict[str, list[Any]]:
    """Return a list for each field of the sums, ``prefix.field``, which joins it at all temperatures."""
    fields: dict[str, list[Any]] = {}
    for at in sums:
        for name, value in at.to_dict().items():
            fields.setdefault(f"{prefix}.{name}", []).extend(value if isinstance(value, list) else [value])
    return fields


def from_lists(prefix: str, fields: Mapping[str, Any], number: int) -> tuple[MetricSums, ...]:
    """Cut the lists that `to_lists` made into `number` sums.

    Raises
    ------
    DataError
        A list is missing or of another length, or the sums are none.
    """
    try:
        names = (each.name for each in dataclasses.fields(MetricSums))
        return MetricSums.listed({name: fields[f"{prefix}.{name}"] for name in names}, number)
    except MALFORMED as error:
        raise DataError(f"These are not calibration sums ({type(error).__name__}).") from None
