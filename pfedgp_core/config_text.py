"""Settings as texts: what each means, and assignments as a command line holds them."""

import tomllib

from pfedgp_core.config import Settings, flat_fields
from pfedgp_core.errors import ConfigError
from pfedgp_core.registry import METHODS
from pfedgp_core.setting import Value, default_of

__all__ = ["describe", "parse_assignment"]


def describe() -> list[tuple[str, Value, str]]:
    """Return (key, default, help) of every setting, in order."""
    rows: list[tuple[str, Value, str]] = []
    for key, f in flat_fields().items():
        text = f.metadata["help"]
        if f.metadata["choices"]:
            text += " (" + ", ".join(f.metadata["choices"]) + ")"
        rows.append((key, default_of(f), text))
    return rows


def parse_assignment(text: str) -> tuple[str, Value]:
    """Turn ``key=value`` from a command line into a key and a value of the type of the setting's default.

    Raises
    ------
    ConfigError
        No ``=``, an unknown key, or a value that is not of the setting's type.
    """
    key, separator, raw = text.partition("=")
    key, raw = key.strip(), raw.strip()
    if not separator:
        raise ConfigError(f"{text!r} is not of the form key=value; write for example rounds=20.")
    known = flat_fields()
    if key not in known:
        if key.partition(".")[0] in ("gp", *METHODS) or "." not in key:
            Settings.from_run_config({key: raw})
        return key, _literal(raw)  # of a method that is named by its import path; whether it has it, it says when made
    default = default_of(known[key])
    try:
        if isinstance(default, bool):
            return key, {"true": True, "false": False}[raw.lower()]
        return key, type(default)(raw)
    except (ValueError, KeyError):
        wanted = "true or false" if isinstance(default, bool) else {int: "an integer", float: "a number"}[type(default)]
        raise ConfigError(f"{key} = {raw!r} is not {wanted}; give for example {key}={default}.") from None


def _literal(raw: str) -> Value:
    """A value without a declaration: a number or a truth value where it reads as one, else a text."""
    try:
        value = tomllib.loads(f"value = {raw}")["value"]
    except (ValueError, RecursionError):
        return raw
    return value if isinstance(value, int | float | str | bool) else raw
