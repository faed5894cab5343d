"""Settings as a TOML file: written by every run, read by ``--config``, mirrored in pyproject.toml."""

import json
from pathlib import Path
from typing import Any

from pfedgp_core.column_rules import rules_text
from pfedgp_core.config import Settings
from pfedgp_core.config_text import describe
from pfedgp_core.errors import ConfigError, UnreadableFileError
from pfedgp_core.files.state import kept
from pfedgp_core.files.toml_file import read_toml

__all__ = ["dump_settings", "read_kept_settings", "read_settings_file", "toml_value"]

_COMMENT_COLUMN = 32


def dump_settings(settings: Settings, table: str = "") -> str:
    """Render all settings as TOML, one commented line a key.

    The text can be given to ``pfedgp simulate --config`` and to ``flwr run --run-config``.

    Parameters
    ----------
    settings : Settings
        The values to write.
    table : str (default: "")
        Dotted name of the table that holds the keys; empty writes them at the top level.

    Returns
    -------
    str
        TOML whose dotted keys are those of ``Settings.to_run_config()``.
    """
    values = settings.to_run_config()
    lines = [f"[{table}]"] if table else []
    open_group = ""
    rows = [(key, text) for key, _, text in describe()]
    known = {key for key, _ in rows}
    rows += [(key, "of the method that is named by its import path") for key in values if key not in known]
    for key, text in rows:
        group, _, name = key.rpartition(".")
        if group != open_group:
            lines += ["", f"[{table}.{group}]" if table else f"[{group}]"]
            open_group = group
        lines.append(f"{name} = {toml_value(values[key])}".ljust(_COMMENT_COLUMN) + f" # {text}")
    return "\n".join(lines) + "\n"


def read_settings_file(path: Path) -> dict[str, Any]:
    """Read a TOML file of settings into flat keys (``gp.kernel``), unchecked but for the rules of ``[data.columns]``.

    Raises
    ------
    ConfigError
        The file cannot be read or is not TOML, or its rules are none.
    """
    try:
        return _flatten(_with_rules(path, read_toml(path)))
    except UnreadableFileError as error:
        raise ConfigError(
            f"Cannot read the settings file {path} ({error.reason}): give an existing TOML file."
        ) from error


def read_kept_settings(path: Path) -> dict[str, Any]:
    """The same of the folder of a run: what is no such file there is a DamagedStateError."""
    with kept(path):
        return _flatten(read_toml(path))


def toml_value(value: float | str | bool) -> str:
    """Return a value as it is written in TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # A JSON string is a TOML string, but for DEL, which only TOML wants escaped.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return repr(value)


def _with_rules(path: Path, table: dict[str, Any]) -> dict[str, Any]:
    """The tables ``[data.columns.NAME]`` as the setting that holds them."""
    about = table.get("data")
    if not isinstance(about, dict) or not isinstance(about.get("columns"), dict):
        return table
    if "column-rules" in table:
        raise ConfigError(f"{path} has rules in data.columns and in column-rules: leave out one of them.")
    rest = {key: value for key, value in about.items() if key != "columns"}
    return {**table, "data": rest, "column-rules": rules_text(about["columns"])}


def _flatten(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            flat |= _flatten(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
