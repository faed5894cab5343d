"""Paths on the command line: an empty one, as a script's unset variable gives, would be the working folder."""

import argparse
from pathlib import Path

__all__ = ["path_argument", "path_text"]


def path_argument(text: str) -> Path:
    """The path that an argument names; the parser of `pfedgp.cli` calls it in place of ``Path``.

    Raises
    ------
    ArgumentTypeError
        It is empty.
    """
    return Path(path_text(text))


def path_text(text: str) -> str:
    """The text of an argument that is a path or, as a name, something else. Raises as `path_argument`."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty, and the working folder is '.'")
    return text
