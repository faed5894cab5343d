"""Translation of a SuperNode's log lines into messages for the operator."""

import re

from pfedgp.processes.colours import without_colours

__all__ = ["connected_as", "in_words", "is_lost", "is_recovered", "is_refused", "plain", "warning_of_app"]

_NODE = re.compile(r"SuperNode ID: (\d+)")
_WARNING = re.compile(r"[\d-]+ [\d:,]+ pfedgp\.client WARNING: (.+)")


def plain(line: str) -> str:
    """A line without terminal colours and spaces at its end."""
    return without_colours(line).rstrip()


def connected_as(line: str) -> str:
    """The node's id, where the line says that it is connected now."""
    found = _NODE.search(line)
    return found[1] if found else ""


def is_lost(line: str) -> bool:
    """Whether the line says that the server does not answer, and that the SuperNode goes on trying."""
    return "Connection attempt failed, retrying in" in line


def is_recovered(line: str) -> bool:
    """Whether the line says that the server answers again."""
    return "Connection successful after" in line


def is_refused(line: str) -> bool:
    """Whether the line says that the server did not let this key in: not registered, or still in use."""
    return "[code: 2004]" in line


def in_words(error: str) -> str:
    """The line of an error, in plain words where it is a known one."""
    return "a reply could not be handed over whole" if "ObjectPushError" in error else error


def warning_of_app(line: str) -> str:
    """What the installed app warns of, where the line is a warning of it; it says so in its own log alone."""
    found = _WARNING.fullmatch(line)
    return found[1] if found else ""
