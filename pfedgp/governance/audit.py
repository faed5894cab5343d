"""``pfedgp audit``: the audit log of a site, a server or a run is verified, or its last lines are shown."""

import argparse
import re
from collections import deque
from pathlib import Path
from typing import Any

from pfedgp.living.options import show
from pfedgp.options import read_whole
from pfedgp_core.audit.line import parse_line
from pfedgp_core.audit.verifying import Verified, log_folder, read_lines, verify
from pfedgp_core.errors import ConfigError
from pfedgp_core.files.regular import MalformedError
from pfedgp_core.words import counted

__all__ = ["add_arguments", "main"]

_HEAD = re.compile(r"([0-9]{1,15}):([0-9a-f]{64})")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("what", choices=("verify", "show"), help="verify the whole log, or show its last lines")
    parser.add_argument(
        "--state", type=Path, required=True, metavar="FOLDER", help="state folder of a site, or the folder of a run"
    )
    parser.add_argument("--head", metavar="N:HASH", help="verify: a line that was noted elsewhere and has to be there")
    parser.add_argument("--archived", action="store_true", help="verify: the oldest files lie elsewhere")
    parser.add_argument("--last", metavar="N", help="show: so many lines (default: 20)")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")


def main(args: argparse.Namespace) -> int:
    """Print what was found; 1 where the log is not whole."""
    folder = log_folder(args.state.expanduser().absolute())
    if args.what == "show":
        if args.head or args.archived:
            raise ConfigError("--head and --archived are for pfedgp audit verify: leave them out.")
        _show(folder, read_whole(args.last, "--last", 10**6) if args.last is not None else 20, args.json)
        return 0
    if args.last is not None:
        raise ConfigError("--last is for pfedgp audit show: leave it out.")
    found = verify(folder, _noted(args.head), args.archived)
    result = {
        "folder": str(folder),
        "whole": not found.faults,
        "lines": found.lines,
        "first": found.first,
        "last": found.last,
        "head": f"{found.last}:{found.head}",
        "faults": found.faults,
        "cut": found.torn,
    }
    show(result, _text(folder, found), args.json)
    return 1 if found.faults else 0


def _noted(head: str | None) -> tuple[int, str] | None:
    if head is None:
        return None
    if (match := _HEAD.fullmatch(head)) is None:
        raise ConfigError(f"--head {head[:100]!r} is none: give the number and the hash that verify printed, N:HASH.")
    return int(match[1]), match[2]


def _text(folder: Path, found: Verified) -> str:
    lines = [f"Audit log {folder}: {counted(found.lines, 'line')}, {found.first} to {found.last}."]
    lines += [f"Cut by a kill, which is no fault: {each}." for each in found.torn]
    lines += [f"FAULT {each}." for each in found.faults]
    if not found.faults:
        lines.append(f"Every line is in its place and as it was written. Note elsewhere: {found.last}:{found.head}")
    return "\n".join(lines)


def _show(folder: Path, last: int, as_json: bool) -> None:
    """The last lines; those that are none are left to ``verify``."""
    kept: deque[bytes] = deque((raw for _, raw in read_lines(folder)), maxlen=last)
    found: list[dict[str, Any]] = []
    for raw in kept:
        try:
            found.append(parse_line(raw.removesuffix(b"\n")))
        except MalformedError:
            continue
    show({"folder": str(folder), "lines": found}, "\n".join(map(_one, found)), as_json)


def _one(about: dict[str, Any]) -> str:
    """A line in few words."""
    what = [f"{about['n']:>6}", about["time"], about["event"]]
    what += [
        f"{key}={about[key]}" for key in ("kind", "round", "run", "settings", "by", "error", "client") if about.get(key)
    ]
    if isinstance(about.get("reply"), dict):
        what.append(f"{about['reply'].get('bytes')} bytes")
    return "  ".join(map(str, what))
