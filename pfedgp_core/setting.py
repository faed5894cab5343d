"""One setting: how its default, help text, range and choices are declared, and how a value is checked against them."""

import dataclasses
import difflib
import math
from collections.abc import Collection, Iterable
from dataclasses import field
from typing import Any

from pfedgp_core.errors import ConfigError
from pfedgp_core.words import cut

__all__ = ["Value", "as_float", "check", "choices_text", "default_of", "kebab", "setting"]

Value = int | float | str | bool


def setting(
    default: Value, help: str, *, low: float = -math.inf, high: float = math.inf, choices: Collection[str] = ()
) -> Any:
    """Declare a field of a dataclass of settings; `choices` may be a registry, which is asked at every check."""
    return field(default=default, metadata={"help": help, "low": low, "high": high, "choices": choices})


def as_float(value: int) -> float:
    """A whole number that stands for a real one; infinity, which is out of every range, beyond all of these."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def kebab(name: str) -> str:
    """The key of a field, as in TOML and on the command line."""
    return name.replace("_", "-")


def default_of(f: dataclasses.Field[Any]) -> Value:
    """The default of a field that `setting` declared."""
    default = f.default
    assert isinstance(default, int | float | str | bool)  # `setting` gives every field one
    return default


def check(key: str, value: Any, f: dataclasses.Field[Any]) -> None:
    """Raise ConfigError for a value of the wrong type, out of range, or not among the choices."""
    kind = type(default_of(f))
    if type(value) is not kind:
        names = {int: "an integer", float: "a number", str: "a text", bool: "true or false"}
        raise ConfigError(f"{key} = {_shown(value)} is not {names[kind]}; the default is {f.default!r}.")
    if f.metadata["choices"] and value not in f.metadata["choices"]:
        raise ConfigError(f"{key} = {_shown(value)} is not known; {choices_text(str(value), f.metadata['choices'])}")
    if isinstance(value, str) and "\0" in value:
        raise ConfigError(f"{key} = {_shown(value)} holds a null character: leave it out.")
    low, high = f.metadata["low"], f.metadata["high"]
    if kind in (int, float) and not low <= value <= high:
        raise ConfigError(f"{key} = {_shown(value)} is out of range; give a value from {low:g} to {high:g}.")


def _shown(value: Any) -> str:
    try:
        return cut(repr(value), 100)
    except ValueError:  # an integer with thousands of digits
        return "a number of thousands of digits"


def choices_text(name: str, known: Iterable[str]) -> str:
    """The remedy for a name that is not known: all that there are, and the nearest one, where one is near."""
    names = list(known)
    near = difflib.get_close_matches(name[:100], names, n=1)
    return f"choose one of: {', '.join(names)}" + (f"; did you mean {near[0]!r}?" if near else ".")
