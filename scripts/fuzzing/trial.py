"""A reader that is tried: its whole files, how these are changed, and what reads them."""

from collections.abc import Callable
from dataclasses import dataclass

from scripts.fuzzing.mutations import Mutation

__all__ = ["Trial"]


@dataclass(frozen=True)
class Trial:
    """What is tried.

    Attributes
    ----------
    whole : list of bytes
        Inputs that are read without an error.
    changes : tuple of Mutation
        One of them is drawn for each input.
    read : callable
        Reads an input; raises a PFedGPError where it cannot.
    """

    whole: list[bytes]
    changes: tuple[Mutation, ...]
    read: Callable[[bytes], object]
