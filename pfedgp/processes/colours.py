"""The output of other programs without its terminal colours."""

import re

__all__ = ["without_colours"]

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def without_colours(text: str) -> str:
    """Return a text without the codes that colour it on a terminal."""
    return _COLOUR.sub("", text)
