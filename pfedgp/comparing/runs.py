"""What several runs have in common and what not, read from their folders."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pfedgp.comparing.paired import Paired, paired
from pfedgp_core.errors import ArtefactError, ConfigError
from pfedgp_core.metrics.intervals import Estimate
from server.report.html.run_files import RunFiles, as_number, judged_columns, read_run
from server.report.wording import metric_behind

__all__ = ["Comparison", "Pair", "read_comparison"]

_ENDS = ("_low", "_high")
_NOT_TEST = "validation_"


@dataclass(frozen=True)
class Pair:
    """A run against the first one.

    Attributes
    ----------
    name : str
    metrics : dict
        By the column of ``clients.csv``.
    reason : str
        Why the clients cannot be paired; empty where they are.
    """

    name: str
    metrics: dict[str, Paired]
    reason: str = ""


@dataclass(frozen=True)
class Comparison:
    """Runs with results, the first of which all others are compared with.

    Attributes
    ----------
    names : tuple of str
        Their folders' names, or paths where two names are equal.
    runs : tuple of RunFiles
    """

    names: tuple[str, ...]
    runs: tuple[RunFiles, ...]

    @property
    def settings(self) -> dict[str, list[Any]]:
        """The settings that differ, one value a run; None where a run does not know the setting."""
        keys = dict.fromkeys(key for run in self.runs for key in run.settings)
        values = {key: [run.settings.get(key) for run in self.runs] for key in keys}
        return {key: found for key, found in values.items() if any(value != found[0] for value in found)}

    @property
    def facts(self) -> dict[str, list[Any]]:
        """Whose results they are: data, rounds, clients, test samples."""
        found = {"data": [run.data for run in self.runs]}
        return found | {
            key: [run.summary.get(key) for run in self.runs] for key in ("status", "rounds", "clients", "test_samples")
        }

    @property
    def results(self) -> dict[str, list[Estimate | float | None]]:
        """Each metric of the test data, one value a run, with its interval where the run has one."""
        keys = dict.fromkeys(key for run in self.runs for key in run.summary if _is_result(key))
        return {key: [_estimate(run, key) for run in self.runs] for key in keys}

    @property
    def pairs(self) -> list[Pair]:
        """All runs but the first against the first, client by client."""
        return [_pair(self.runs[0], run, name) for run, name in zip(self.runs[1:], self.names[1:], strict=True)]


def read_comparison(paths: Sequence[Path]) -> Comparison:
    """Read the folders of runs.

    Raises
    ------
    ConfigError
        Fewer than two runs, or one twice.
    ArtefactError
        There is no run in a folder, or it has no results yet.
    DamagedStateError
        A file of a run is damaged.
    """
    folders = [path.expanduser().absolute() for path in paths]
    if len(folders) < 2:
        raise ConfigError("A comparison needs at least two runs: give the folders of two or more.")
    for i, folder in enumerate(folders):
        if folder in folders[:i]:
            raise ConfigError(f"The run {paths[i]} is given twice: give each run once.")
    runs = tuple(map(read_run, folders))
    for path, run in zip(paths, runs, strict=True):
        if not run.clients or not any(map(_is_result, run.summary)):
            raise ArtefactError(f"The run {path} has no results yet: let it end, or go on with it by pfedgp resume.")
    names = [folder.name for folder in folders]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    return Comparison(tuple(names), runs)


def _is_result(key: str) -> bool:
    return metric_behind(key) is not None and not key.startswith(_NOT_TEST) and not key.endswith(_ENDS)


def _estimate(run: RunFiles, key: str) -> Estimate | float | None:
    value = run.summary.get(key)
    if not isinstance(value, int | float):
        return None
    interval = (run.summary.get("intervals") or {}).get(key)
    low, high = (interval.get("low"), interval.get("high")) if isinstance(interval, dict) else (None, None)
    if isinstance(low, int | float) and isinstance(high, int | float):
        return Estimate(float(value), float(low), float(high))
    return float(value)


def _pair(first: RunFiles, second: RunFiles, name: str) -> Pair:
    if reason := _unlike(first, second):
        return Pair(name, {}, reason)
    columns = [key for key in judged_columns(first.clients) if not key.endswith(_ENDS)]
    found = {key: paired(_values(first, key), _values(second, key)) for key in columns}
    return Pair(name, {key: result for key, result in found.items() if result is not None})


def _values(run: RunFiles, key: str) -> dict[str, float]:
    values = {row["name"]: as_number(row.get(key)) for row in run.clients}
    return {name: value for name, value in values.items() if value is not None}


def _unlike(first: RunFiles, second: RunFiles) -> str:
    """Why clients of the same name are not the same clients; empty where nothing says so."""
    if first.data != second.data:
        return f"the runs are of other data, {first.data} and {second.data}"
    if first.summary.get("partition_hash") != second.summary.get("partition_hash"):
        ours, theirs = len(first.clients), len(second.clients)
        if ours != theirs:
            return f"the data are split over {ours} clients in one run and {theirs} in the other"
        return "the data are split over the clients in another way, as with another seed"
    tests = [{row["name"]: row.get("n_test") for row in run.clients} for run in (first, second)]
    both = tests[0].keys() & tests[1].keys()
    if not both:
        return "no client is in both runs"
    if other := sorted(name for name in both if tests[0][name] != tests[1][name]):
        return f"{other[0]} has another number of test samples"
    return ""
