"""Options that the verbs of a living site share: the site, who changes it, and JSON."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pfedgp.options import add_allow_network
from pfedgp_core.errors import ConfigError
from pfedgp_core.names import NAME_LIMIT, escaped, name_fault
from pfedgp_core.words import cut

__all__ = ["LONGEST", "add_site_options", "person", "show"]

LONGEST = 1_000  # characters of a name in a column of text; JSON has all of it


def add_site_options(parser: argparse.ArgumentParser, changes: bool) -> None:
    """Declare ``--site``, ``--json``, ``--allow-network`` and, for a verb that changes the site, ``--by``."""
    parser.add_argument("--site", type=Path, metavar="SITE", required=True, help="folder that pfedgp onboard wrote")
    if changes:
        parser.add_argument(
            "--by",
            metavar="NAME",
            type=person,
            default="",
            help="who does it, for the site's history (default: this user)",
        )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    add_allow_network(parser)


def person(text: str) -> str:
    """A name that stays in one field of one line of a site's history.

    Raises
    ------
    ConfigError
        It has other characters, or is too long.
    """
    if text and (fault := name_fault(text, NAME_LIMIT)):
        raise ConfigError(f"--by {cut(escaped(text), 80)!r} {fault}: give the name of who does it.")
    return text


def show(result: Mapping[str, Any], text: str, as_json: bool) -> None:
    """Print a result: as JSON, or its text."""
    print(json.dumps(result, indent=2, ensure_ascii=False) if as_json else text)
