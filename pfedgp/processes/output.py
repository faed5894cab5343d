"""Output to a terminal or a file of any encoding: a character that it does not know is written as its number."""

import io
import sys

__all__ = ["write_anything"]


def write_anything() -> None:
    """Let no character that stdout or stderr cannot show end this process.

    Class names, paths and the names of sites hold whatever people type, and a terminal may know 256 characters.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
