"""``--dataset PATH``: a user's own data as the data set of a simulation."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.registry import DATASETS

__all__ = ["with_own_data"]

_OWN = "own-data"


def with_own_data(chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a path in place of a data set's name, by flat key; any others as they are.

    Raises
    ------
    ConfigError
        A path and a data root as well, or an empty text.
    DataError
        There is nothing at the path.
    """
    given = chosen.get("dataset")
    if not isinstance(given, str) or given in DATASETS:
        return dict(chosen)
    if not given.strip():
        raise ConfigError("--dataset is empty: give a path, '.' for this folder, or the name of a data set.")
    path = Path(given).expanduser()
    if not path.exists():
        if not _is_path(given):
            return dict(chosen)  # a name that is not known, which the settings say
        raise DataError(f"There is nothing at --dataset {given}: give a path, or the name of a data set.")
    if chosen.get("data-root"):
        raise ConfigError(f"--dataset {given} is a path of its own: leave out data-root = {chosen['data-root']!r}.")
    return {**chosen, "dataset": _OWN, "data-root": str(path.absolute())}


def _is_path(text: str) -> bool:
    """Whether a text that is no name of a data set is meant as a path, by its looks."""
    from pfedgp_core.data.own.kinds import SUFFIXES  # slow to import

    return os.sep in text or Path(text).suffix.lower() in (".toml", *SUFFIXES)
