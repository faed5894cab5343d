"""What can be chosen by name, and where it lies: a new kernel, method or data set is one file and one line here.

Imports neither torch nor what it names, so that settings, help texts and the command line know every choice at once.
"""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pfedgp_core.errors import ConfigError

__all__ = ["KERNELS", "Entry", "choices", "entry"]


@dataclass(frozen=True)
class Entry:
    """One choice.

    Attributes
    ----------
    target : str
        ``package.module:name`` of the class or function.
    about : str
        What it is, in a few words, for help texts.
    """

    target: str
    about: str

    def load(self) -> Any:
        """Import what the entry names."""
        module, _, name = self.target.partition(":")
        return getattr(importlib.import_module(module), name)


# Kernel classes: see `pfedgp_core.kernels.base.Kernel`.
KERNELS: dict[str, Entry] = {
    "rbf": Entry("pfedgp_core.kernels.rbf:RBF", "squared exponential, the paper's"),
    "matern12": Entry("pfedgp_core.kernels.matern:Matern12", "Matern of smoothness 1/2, rough"),
    "matern32": Entry("pfedgp_core.kernels.matern:Matern32", "Matern of smoothness 3/2"),
    "matern52": Entry("pfedgp_core.kernels.matern:Matern52", "Matern of smoothness 5/2"),
    "linear": Entry("pfedgp_core.kernels.linear:Linear", "inner product of the features"),
}


def choices(entries: Mapping[str, Entry]) -> tuple[str, ...]:
    """Names in the order of the registry, as a setting's choices."""
    return tuple(entries)


def entry(entries: Mapping[str, Entry], key: str, name: str) -> Entry:
    """Return the entry of a name.

    Raises
    ------
    ConfigError
        The name is not known; `key` is the setting that holds it.
    """
    if name not in entries:
        raise ConfigError(f"{key} = {name!r} is not known; choose one of: {', '.join(entries)}.")
    return entries[name]
