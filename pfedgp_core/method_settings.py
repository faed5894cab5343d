"""The settings of single methods: groups of keys ``METHOD.NAME``, declared where the method is registered."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pfedgp_core.errors import ConfigError
from pfedgp_core.registry import METHODS, is_import_path
from pfedgp_core.setting import Value, check, default_of

__all__ = ["MethodSettings", "method_fields"]


def method_fields() -> dict[str, dataclasses.Field[Any]]:
    """Declarations of all registered methods' own settings, by full key, in the order of the registry."""
    return {f"{name}.{key}": f for name, method in METHODS.items() for key, f in method.settings.items()}


@dataclass(frozen=True)
class MethodSettings:
    """Values of methods' own settings.

    Attributes
    ----------
    given : tuple of (str, value)
        Full keys and values that differ from their defaults, sorted, so that equal settings are equal and hashable.
    """

    given: tuple[tuple[str, Value], ...] = ()

    @classmethod
    def of(cls, values: Mapping[str, Value]) -> "MethodSettings":
        """Keep what differs from its default."""
        known = method_fields()
        kept = {k: v for k, v in values.items() if k not in known or (type(v), v) != _typed(default_of(known[k]))}
        return cls(tuple(sorted(kept.items())))

    def check(self, method: str) -> None:
        """Raise ConfigError for a value out of range, or a key that no method has.

        A method that is named by its import path declares its settings in its class, which is not imported here: its
        keys are checked when it is made.
        """
        known = method_fields()
        for key, value in self.given:
            if key in known:
                check(key, value, known[key])
            elif not is_import_path(method):
                raise ConfigError(f"Unknown setting {key!r}: no method of the registry has it.")

    def get(self, key: str, declared: Mapping[str, Any] | None = None) -> Value:
        """The value of a full key, or its default.

        Parameters
        ----------
        key : str
        declared : mapping of str to dataclasses.Field, optional
            Declarations without the method's name, of a method that is not in the registry.

        Raises
        ------
        ConfigError
            The value does not fit its declaration.
        KeyError
            The setting is not declared.
        """
        own = (declared or {}).get(key.partition(".")[2])
        f = own if own is not None else method_fields()[key]
        value = dict(self.given).get(key, default_of(f))
        if isinstance(default_of(f), float) and type(value) is int:
            value = float(value)
        check(key, value, f)
        return value

    def to_run_config(self) -> dict[str, Value]:
        """All registered methods' settings by full key, and whatever else was given."""
        defaults = {key: default_of(f) for key, f in method_fields().items()}
        return defaults | dict(self.given)


def _typed(value: Value) -> tuple[type, Value]:
    return type(value), value
