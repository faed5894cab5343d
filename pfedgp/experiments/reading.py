"""Reads the file of an experiment, and refuses it with one sentence where a cell of it could not be run."""

import difflib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pfedgp.experiments.specification import (
    HEADS,
    OF_THE_TEST,
    SCALED,
    Bounds,
    Column,
    Experiment,
    Reported,
    Row,
    Search,
)
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError, PFedGPError, UnreadableFileError
from pfedgp_core.files.toml_file import read_toml
from pfedgp_core.registry import VARIANTS

__all__ = ["near", "read_experiment"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,59}")
_KEYS = {
    "": (
        "title",
        "place",
        "about",
        "metric",
        "seeds",
        "scaled",
        "scale-seeds",
        "settings",
        "columns",
        "rows",
        "search",
        "preset",
        "curves",
    ),
    "column": ("title", "settings"),
    "row": ("title", "settings", "columns", "paper", "grid", "at", "of", "bounds"),
    "bounds": ("shares", "delta"),
    "search": ("column", "seed", "candidates", "budget"),
}


def read_experiment(path: Path) -> Experiment:
    """Read the file of an experiment, and make sure that every cell of it could be run.

    Raises
    ------
    ConfigError
        What is wrong with the file.
    """
    try:
        table = read_toml(path)
    except UnreadableFileError as error:
        raise ConfigError(f"Cannot read the experiment {path} ({error.reason}): correct the file.") from error
    try:
        return _experiment(path.stem, table)
    except PFedGPError as error:
        raise ConfigError(f"The experiment {path}: {error}") from error


def _experiment(name: str, table: Mapping[str, Any]) -> Experiment:
    _refuse_unknown(table, "", "the file")
    columns = {
        key: Column(key, _text(each, "title", key), _flat(_table(each, "settings")))
        for key, each in _tables(table, "columns", "column").items()
    }
    rows = {key: _row(key, each, columns) for key, each in _tables(table, "rows", "row").items()}
    experiment = Experiment(
        name,
        _text(table, "title", name),
        _text(table, "place"),
        _text(table, "about"),
        _text(table, "metric", "accuracy"),
        _seeds(table.get("seeds", [0, 1, 2])),
        tuple(_texts(table.get("scaled", list(SCALED)), "scaled")),
        table.get("scale-seeds", False) is True,
        _flat(_table(table, "settings")),
        columns,
        rows,
        _search(table, columns),
        _text(table, "preset"),
        table.get("curves", False) is True,
    )
    for row in rows.values():
        if row.of:
            _check_test_only(experiment, row)
        _check_cells(experiment, row)
        if row.bounds:
            _check_bounds(experiment, row)
    return experiment


def _row(key: str, table: Mapping[str, Any], columns: Mapping[str, Column]) -> Row:
    where = f"row {key!r}"
    runs = tuple(_texts(table.get("columns", list(columns)), f"columns of {where}"))
    paper, at = _table(table, "paper"), _table(table, "at")
    for name in (*runs, *paper, *at):
        if name not in columns:
            raise ConfigError(f"{where} names the column {name!r}: {near(name, columns)}")
    grid = {
        setting: tuple(values) if isinstance(values, list) and values else (values,)
        for setting, values in _flat(_table(table, "grid")).items()
    }
    return Row(
        key,
        _text(table, "title", key),
        _flat(_table(table, "settings")),
        runs,
        {column: _reported(number, where) for column, number in paper.items()},
        grid,
        {column: _flat(_table(at, column)) for column in at},
        _text(table, "of"),
        _bounds(table, where),
    )


def _check_test_only(experiment: Experiment, row: Row) -> None:
    """Raise ConfigError where a row that trains nothing could not test the model of the row that it names."""
    if row.of not in experiment.rows or experiment.rows[row.of].of:
        trained = [name for name, each in experiment.rows.items() if not each.of]
        raise ConfigError(f"row {row.name!r} is of {row.of!r}: {near(row.of, trained)}")
    base, flat = experiment.rows[row.of], [row.settings, *row.at.values()]
    method = str(base.settings.get("method", experiment.settings.get("method", "pfedgp")))
    if row.grid or not set(row.columns) <= set(base.columns) or method not in HEADS:
        kinds = " or ".join(HEADS)
        raise ConfigError(
            f"row {row.name!r} is of {row.of!r}: a row of {kinds} with the same columns is meant, and no grid."
        )
    heads = HEADS[method]
    for key, value in (pair for each in flat for pair in each.items()):
        head = value in heads if key == "method" else key.startswith(tuple(f"{name}." for name in heads))
        if not head and key not in OF_THE_TEST:
            allowed = ", ".join((f"method (to {' or '.join(heads)})", *OF_THE_TEST))
            raise ConfigError(f"row {row.name!r} is of {row.of!r} and changes {key}: it may change {allowed}.")


def _check_bounds(experiment: Experiment, row: Row) -> None:
    """Raise ConfigError where a row has clients whose certificate is refused."""
    if not row.of:
        raise ConfigError(f"row {row.name!r} has bounds: it certifies another row's model, which `of` names.")
    for name in row.columns:
        settings = Settings.from_run_config(experiment.flat(row, experiment.columns[name]))
        where = f"row {row.name!r}, column {name!r}: bounds are of"
        if not settings.novel_clients:
            raise ConfigError(f"{where} clients that never train: set novel-clients.")
        reason = VARIANTS[settings.variant].no_certificate
        if settings.method != "pfedgp" or settings.classes == "all" or reason:
            raise ConfigError(f"{where} method = 'pfedgp' with variant = 'full' or 'ip-compute' and classes = 'own'.")


def _check_cells(experiment: Experiment, row: Row) -> None:
    if "best-classes" in row.grid:
        raise ConfigError(
            f"row {row.name!r} has best-classes in its grid, whose candidates' numbers would be over different "
            "classes: give one value in its settings."
        )
    if len(row.candidates) > experiment.search.candidates:
        raise ConfigError(
            f"row {row.name!r} has a grid of {len(row.candidates)} candidates, more than the "
            f"{experiment.search.candidates} that every row may try: leave some out, or raise search.candidates."
        )
    for name in row.columns:
        for candidate in [{}, *row.candidates]:
            try:
                Settings.from_run_config(experiment.flat(row, experiment.columns[name]) | candidate)
            except ConfigError as error:
                raise ConfigError(f"row {row.name!r}, column {name!r}: {error}") from error


def _bounds(table: Mapping[str, Any], where: str) -> Bounds | None:
    if "bounds" not in table:
        return None
    given = _table(table, "bounds")
    _refuse_unknown(given, "bounds", f"bounds of {where}")
    shares, delta = given.get("shares", [1.0]), given.get("delta", 0.01)
    numbers = [*shares, delta] if isinstance(shares, list) else [None]
    if len(numbers) < 2 or not all(type(n) in (int, float) for n in numbers):
        raise ConfigError(f"bounds of {where} are no shares and delta: write {{ shares = [0.5, 1.0], delta = 0.01 }}.")
    if not all(0 < n <= 1 for n in shares) or not 0 < delta < 1:
        raise ConfigError(f"bounds of {where}: shares are above 0 and up to 1, delta between 0 and 1: correct them.")
    return Bounds(tuple(sorted({float(n) for n in shares})), float(delta))


def _search(table: Mapping[str, Any], columns: Mapping[str, Column]) -> Search:
    given = _table(table, "search")
    _refuse_unknown(given, "search", "search")
    for key, value in given.items():
        kind = type(getattr(Search(), key))
        if type(value) is not kind and not (kind is float and type(value) is int):
            raise ConfigError(f"search.{key} = {value!r} is no {kind.__name__}: correct it.")
    search = Search(**given)
    if search.column and search.column not in columns:
        raise ConfigError(f"search.column = {search.column!r}: {near(search.column, columns)}")
    if not 0 < search.budget <= 1 or search.candidates < 1:
        raise ConfigError("search.budget is a share from 0 to 1, and search.candidates at least 1: correct them.")
    return search


def _tables(table: Mapping[str, Any], key: str, kind: str) -> dict[str, dict[str, Any]]:
    found = _table(table, key)
    if not found:
        raise ConfigError(f"it has no {key}: write a table [{key}.NAME] for each.")
    for name, each in found.items():
        if not _NAME.fullmatch(name):
            raise ConfigError(f"{kind} {name!r}: a name has letters, digits, - and _, and at most 60 of them.")
        if not isinstance(each, dict):
            raise ConfigError(f"{key}.{name} is no table: write [{key}.{name}].")
        _refuse_unknown(each, kind, f"{kind} {name!r}")
    return found


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{key} is no table: write [{key}].")
    return found


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in table.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return flat


def _text(table: Mapping[str, Any], key: str, default: str = "") -> str:
    found = table.get(key, default)
    if not isinstance(found, str):
        raise ConfigError(f"{key} = {found!r} is no text: write it in quotes.")
    return found


def _texts(found: Any, what: str) -> Sequence[str]:
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise ConfigError(f"{what} = {found!r} is no list of texts.")
    return found


def _seeds(found: Any) -> tuple[int, ...]:
    if not isinstance(found, list) or not found or not all(type(seed) is int and seed >= 0 for seed in found):
        raise ConfigError(f"seeds = {found!r} is no list of whole numbers: write for example [0, 1, 2].")
    return tuple(found)


def _reported(found: Any, where: str) -> Reported:
    numbers = found if isinstance(found, list) else [found]
    if not 1 <= len(numbers) <= 2 or not all(type(n) in (int, float) and math.isfinite(n) for n in numbers):
        raise ConfigError(f"paper = {found!r} of {where} is no number and no pair of number and standard error.")
    return Reported(*map(float, numbers))


def _refuse_unknown(table: Mapping[str, Any], kind: str, where: str) -> None:
    for key in table:
        if key not in _KEYS[kind]:
            raise ConfigError(f"{where} has the key {key!r}: {near(key, _KEYS[kind])}")


def near(name: str, known: Iterable[str]) -> str:
    """The remedy for a name that is not known: the nearest one, or all."""
    found = difflib.get_close_matches(name, list(known), n=1)
    return f"did you mean {found[0]!r}?" if found else f"choose one of: {', '.join(known)}."
