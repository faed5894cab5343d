"""Values of a run as JSON: numpy's numbers and paths in Python's form, and never NaN or infinity."""

import json
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.errors import NonFiniteError

__all__ = ["to_json"]


def to_json(value: Any, what: str, indent: int | None = None) -> str:
    """Return `value` as JSON; `what` names it in an error.

    Raises
    ------
    NonFiniteError
        It holds NaN or infinity.
    """
    try:
        return json.dumps(value, indent=indent, allow_nan=False, default=_plain)
    except ValueError as error:
        raise NonFiniteError(f"The {what} holds NaN or infinity; use null for a number that does not exist.") from error


def _plain(value: Any) -> Any:
    """Return Python's form of numpy's numbers and arrays, and of paths."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
