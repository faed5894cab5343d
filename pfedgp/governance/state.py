"""The state folder of a site, for verbs that read or change what the site decides for itself."""

import argparse
from pathlib import Path

from pfedgp.living.options import person
from pfedgp_core.errors import ConfigError

__all__ = ["add_by", "add_state", "site_state"]


def add_state(parser: argparse.ArgumentParser) -> None:
    """Declare ``--state`` and ``--json``."""
    parser.add_argument("--state", type=Path, required=True, metavar="FOLDER", help="the one of pfedgp client --state")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def add_by(parser: argparse.ArgumentParser) -> None:
    """Declare ``--by``."""
    parser.add_argument("--by", metavar="NAME", type=person, default="", help="who does it (default: this user)")


def site_state(args: argparse.Namespace) -> Path:
    """The folder, absolute; ConfigError where there is none."""
    folder: Path = args.state.expanduser().absolute()
    if not folder.is_dir():
        raise ConfigError(f"--state {args.state} is no folder: give the one that pfedgp client has as --state.")
    return folder
