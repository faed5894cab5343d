"""Patches of other software: the purpose of each, what it needs there, and what happens without it.

A newer version of the other software may rename what a patch changes. So every patch can say what it misses. A program
refuses to start without a safety patch; any other patch is left out and named.
"""

import importlib
import inspect
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable
from typing import Any, ClassVar

from pfedgp_core.errors import ConfigError

__all__ = ["FLOWER", "Patch", "lacks", "lost_patches", "refuse_lost"]

FLOWER = "flwr>=1.39,<1.40"  # as a requirement, for remedies


class Patch(ABC):
    """One change of an installed package's behaviour, in this process.

    Attributes
    ----------
    name : str
        In words with hyphens, for doctor and summary.
    purpose : str
        What it is for, in a few words.
    safety : bool
        Whether a program refuses to start without it.
    """

    name: ClassVar[str]
    purpose: ClassVar[str]
    safety: ClassVar[bool] = False

    @abstractmethod
    def missing(self) -> str:
        """What the installed package lacks that the patch needs, in a few words; empty where it has all of it."""

    def apply(self) -> None:
        """Change the behaviour, where nothing is missing; nothing by default, for what a class of our own does."""
        return


def lacks(module: str, path: str, parameters: Collection[str] = ()) -> str:
    """Say what a module lacks; empty where it has the object, with these parameters.

    Parameters
    ----------
    module : str
        To import.
    path : str
        Of an object in it, such as ``Class.method``.
    parameters : collection of str
        Names of keyword parameters that the object must take.

    Examples
    --------
    >>> lacks("json", "loads", {"object_hook", "colour"})
    'json.loads takes no colour'
    >>> lacks("json", "JSONDecoder.undo")
    'json.JSONDecoder.undo is gone'
    """
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError):
        return f"{module}.{path} is gone"
    if not parameters:
        return ""
    try:
        unknown = sorted(set(parameters) - set(inspect.signature(found).parameters))
    except (TypeError, ValueError):
        return f"{module}.{path} is no function any more"
    return f"{module}.{path} takes no {', '.join(unknown)}" if unknown else ""


def lost_patches(patches: Iterable[Patch], *, safety: bool | None = None) -> list[str]:
    """Name the patches that have lost what they need, each in one sentence.

    Parameters
    ----------
    patches : iterable of Patch
    safety : bool, optional
        Look only at those that do, or do not, carry safety.
    """
    looked_at = [patch for patch in patches if safety is None or patch.safety == safety]
    return [
        f"The patch {patch.name} ({patch.purpose}) does not fit the installed version: {reason}."
        for patch in looked_at
        if (reason := patch.missing())
    ]


def refuse_lost(patches: Iterable[Patch], otherwise: str = "") -> None:
    """Raise ConfigError where a patch that carries safety has lost what it needs.

    Parameters
    ----------
    patches : iterable of Patch
    otherwise : str
        What else the reader can do, as the end of a sentence.
    """
    if lost := lost_patches(patches, safety=True):
        raise ConfigError(f"{' '.join(lost)} Install {FLOWER}{otherwise}.")
