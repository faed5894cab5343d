"""The folder of an experiment: what it is the folder of, and the result of each cell, written whole."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pfedgp.experiments.cells import Cell, Selection, cell_settings
from pfedgp.experiments.specification import Experiment
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, ConfigError, MissingFileError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.lock import FileLock
from pfedgp_core.files.state import kept
from pfedgp_core.files.whole import explained, write_whole

__all__ = ["ExperimentFolder"]

_FILE = "experiment.json"
_FAILURE = {"status": str, "reason": str}
_RESULT = {"metrics": dict, "costs": dict, "machine": dict, "curve": list, "rounds": int, "commit": str, "pfedgp": str}
_ANYWHERE = ("data-root", "seed")  # settings that cells of one folder may differ in


class ExperimentFolder:
    """Results of one experiment under one budget; rows, columns and seeds may come one after the other.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path.expanduser().absolute()

    def lock(self) -> FileLock:
        """Keep other processes out until the end of the block.

        Raises
        ------
        ArtefactError
            One is in, or the folder is used for something else.
        """
        with explained(self.path):
            held = [each.name for each in self.path.iterdir()] if self.path.exists() else []
            if _FILE not in held and any(not name.startswith(".") and name != "cells" for name in held):
                raise ArtefactError(
                    f"{self.path} is not empty: give a folder of its own with --out, nothing is touched."
                )
            (self.path / "cells").mkdir(parents=True, exist_ok=True)

        def refused(who: str) -> ArtefactError:
            return ArtefactError(
                f"{self.path} is in use by {who}, which still runs: wait for its end, stop it, or give another --out."
            )

        return FileLock(self.path / ".lock", refused)

    def claim(self, experiment: Experiment, selection: Selection, search: bool, write: bool = True) -> None:
        """Make sure that this is a folder of the experiment, and note new rows and columns of it.

        Rows and columns of which no run has begun may have changed.

        Parameters
        ----------
        experiment : Experiment
        selection : Selection
        search : bool
        write : bool
            Needs the lock; without it nothing is noted, as another process may be about to begin.

        Raises
        ------
        ConfigError
            It is one of another experiment, or of other settings; the first one is named.
        DamagedStateError
            What it is cannot be read.
        """
        wanted, begun = _identity(experiment, selection.budget, search), self._begun()
        found = self._found() if begun else {}
        for key in ("experiment", "budget", "search") if found else ():
            if found.get(key) != wanted[key]:
                raise self._other(key, found.get(key), wanted[key])
        usual = Settings().to_run_config()
        for part in ("cells", "grids"):
            for name in wanted[part].keys() & found.get(part, {}).keys():
                if not any(each.startswith(f"{name}.") for each in begun):
                    continue
                old, new = found[part][name], wanted[part][name]
                for key in sorted(old.keys() | new.keys()):
                    before, now = old.get(key, usual.get(key)), new.get(key, usual.get(key))
                    if before != now:
                        raise self._other(f"{key} of {name}", before, now)
        merged = {part: found.get(part, {}) | wanted[part] for part in ("cells", "grids")}
        if write and found != wanted | merged:
            write_whole(self.path / _FILE, json.dumps(wanted | merged, indent=1) + "\n")

    def _other(self, key: str, found: object, wanted: object) -> ConfigError:
        return ConfigError(
            f"{self.path} holds results with {key} = {json.dumps(found)}, and this call has {json.dumps(wanted)}: give "
            "another folder with --out."
        )

    def _begun(self) -> list[str]:
        """What runs have left, by names that begin with their cell's; a call that was refused before has left none."""
        parts = [self.path / part for part in ("cells", "runs")]
        return [each.name for part in parts if part.is_dir() for each in part.iterdir() if each.name[0] != "."]

    def _found(self) -> dict[str, Any]:
        with kept(self.path / _FILE):
            try:
                return read_object(self.path / _FILE)
            except MissingFileError:
                return {}

    def run(self, cell: Cell) -> Path:
        """The folder of a cell's run."""
        return self.path / "runs" / cell.name

    def base(self, cell: Cell) -> Path:
        """The folder of the run whose model a cell tests once more."""
        return self.path / "runs" / cell.base

    def log(self, cell: Cell) -> Path:
        """What its process prints."""
        return self.path / "logs" / f"{cell.name}.log"

    def result(self, cell: Cell) -> dict[str, Any] | None:
        """What a cell gave; None before it has ended.

        Raises
        ------
        DamagedStateError
            The file of the result is damaged.
        """
        path = self.path / "cells" / f"{cell.name}.json"
        with kept(path):
            try:
                result = read_object(path)
            except MissingFileError:
                return None
            needed = _RESULT if result.get("status") == "completed" else _FAILURE
            if any(type(result.get(key)) is not kind for key, kind in needed.items()):
                raise UnreadableFileError(path, "it is no result of a cell")
            return result

    def keep(self, cell: Cell, result: Mapping[str, Any]) -> None:
        """Write what a cell gave."""
        write_whole(self.path / "cells" / f"{cell.name}.json", json.dumps(result, indent=1) + "\n")


def _identity(experiment: Experiment, budget: float, search: bool) -> dict[str, Any]:
    """What decides the results of all cells, as plain values."""
    cells = {}
    for row in experiment.rows.values():
        for column in row.columns:
            settings = Settings.from_run_config(cell_settings(experiment, row, column, budget)).to_run_config()
            bounds = {} if row.bounds is None else {"bounds": [row.bounds.delta, *row.bounds.shares]}
            cells[f"{row.name}.{column}"] = {k: v for k, v in settings.items() if k not in _ANYWHERE} | bounds
    grids = {row.name: {key: list(values) for key, values in row.grid.items()} for row in experiment.rows.values()}
    return {
        "experiment": experiment.name,
        "budget": budget,
        "search": search,
        "cells": cells,
        "grids": {name: grid for name, grid in grids.items() if grid and search},
    }
