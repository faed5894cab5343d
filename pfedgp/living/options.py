"""Options that the verbs of a living site share: the site, who changes it, and JSON."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pfedgp.options import add_allow_network

__all__ = ["add_site_options", "show"]


def add_site_options(parser: argparse.ArgumentParser, changes: bool) -> None:
    """Declare ``--site``, ``--json``, ``--allow-network`` and, for a verb that changes the site, ``--by``."""
    parser.add_argument("--site", type=Path, metavar="SITE", required=True, help="folder that pfedgp onboard wrote")
    if changes:
        parser.add_argument(
            "--by", metavar="NAME", default="", help="who does it, for the site's history (default: this user)"
        )
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    add_allow_network(parser)


def show(result: Mapping[str, Any], text: str, as_json: bool) -> None:
    """Print a result: as JSON, or its text."""
    print(json.dumps(result, indent=2, ensure_ascii=False) if as_json else text)
