"""``pfedgp withdraw``: a site leaves its federation, deletes its own part, and says what lies where."""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from pfedgp.governance.state import add_by, add_state, site_state
from pfedgp.living.options import show
from pfedgp_core.audit.line import parse_line
from pfedgp_core.audit.log import FOLDER as AUDIT
from pfedgp_core.audit.log import AuditLog
from pfedgp_core.audit.verifying import read_lines, verify
from pfedgp_core.errors import ConfigError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.lock import FileLock
from pfedgp_core.files.regular import MalformedError
from pfedgp_core.site.history import user_name
from pfedgp_core.site.withdrawal import (
    CLASSIFIER,
    MARK,
    Part,
    elsewhere,
    parts,
    receipt,
    remove,
    trained_in,
    withdrawn,
    write_mark,
)
from pfedgp_core.words import counted, few, size

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_state(parser)
    parser.add_argument("--yes", action="store_true", help="delete without a question; without it one is asked")
    parser.add_argument("--keep-classifier", action="store_true", help="the site goes on with its own classifier")
    add_by(parser)


def main(args: argparse.Namespace) -> int:
    """Show what would be deleted, delete it once that is agreed to, and print the receipt; else 1."""
    state = site_state(args)
    if not any((state / name).exists() for name in ("client.json", "flwr", MARK)):
        raise ConfigError(f"{state} is no state folder of a site: give the one that pfedgp client has as --state.")

    def refused(who: str) -> ConfigError:
        return ConfigError(f"The client with the state folder {state} still runs ({who}): stop it first.")

    with FileLock(state / "lock", refused):
        former = withdrawn(state)
        found = parts(state, args.keep_classifier)
        if former is not None and "sha256" in former and not found:
            show(former, f"This site has withdrawn already, {former.get('when')}: {state / MARK}.", args.json)
            return 0
        plan = _plan(state, found, former)
        if not args.yes:
            show(plan | {"deleted": False}, _plan_text(plan), args.json)
            if args.json or not _agrees():
                return 1
        result = _withdraw(args, state, found, plan)
    show(result, _text(result, state), args.json)
    return 0


def _plan(state: Path, found: list[Part], former: dict[str, Any] | None) -> dict[str, Any]:
    log = state / AUDIT
    runs = trained_in(_lines(log))
    logged = verify(log)
    begun = former or {}  # a call that was cut off, or one that kept the classifier
    before = {part["name"]: part for part in begun.get("parts", [])}
    name = begun.get("site") or _name(state)
    took_part = bool(runs) if logged.lines and logged.first == 1 and not logged.faults else (True if runs else None)
    return {
        "site": str(name),
        "parts": list(({part.name: asdict(part) for part in found} | before).values()),
        "kept": sorted(p.name for p in state.iterdir() if p.name not in {part.name for part in found} | {"lock", MARK}),
        "runs": [trained.to_dict(run) for run, trained in runs.items()],
        "audit_head": f"{logged.last}:{logged.head}",
        "audit_whole": not logged.faults,
        "elsewhere": elsewhere(str(name), took_part),
    }


def _withdraw(args: argparse.Namespace, state: Path, found: list[Part], plan: dict[str, Any]) -> dict[str, Any]:
    """Mark the site first, so that after a kill no client starts on what is left; then delete."""
    by = args.by or user_name()
    write_mark(state, {"site": plan["site"], "by": by, "parts": plan["parts"]})
    remove(state, found)
    result = receipt(plan | {"by": by, "deleted": True})
    AuditLog(state / AUDIT).add(("withdrawn", {"by": by, "receipt": result["sha256"]}))
    write_mark(state, result)
    return result


def _lines(log: Path) -> Iterator[dict[str, Any]]:
    for _, raw in read_lines(log):
        try:
            yield parse_line(raw.removesuffix(b"\n"))
        except MalformedError:
            continue  # verification names it


def _name(state: Path) -> str:
    try:
        return str(read_object(state / "client.json").get("name") or state.name)
    except UnreadableFileError:
        return state.name


def _agrees() -> bool:
    if not sys.stdin.isatty():
        return False
    print("Delete all of this? Type yes: ", end="", flush=True)
    return sys.stdin.readline().strip() == "yes"


def _plan_text(plan: dict[str, Any]) -> str:
    lines = [f"The site {plan['site']!r} would leave its federation. Deleted here would be:"]
    lines += [
        f"  {part['name']}: {part['what']}, {counted(part['files'], 'file')}, {size(part['bytes'])}"
        for part in plan["parts"]
    ]
    return "\n".join([*lines, *_rest(plan)])


def _rest(plan: dict[str, Any]) -> list[str]:
    lines = [f"Kept here: {few(plan['kept'])}."] if plan["kept"] else []
    lines += [
        f"Run {run['run']} got {counted(run['updates'], 'update')} of this site, from round {run['first_round']} to "
        f"round {run['last_round']}."
        for run in plan["runs"]
    ]
    if not plan["audit_whole"]:
        lines.append("The audit log is not whole, see pfedgp audit verify: other runs may have got updates.")
    lines.append("Elsewhere:")
    lines += [f"  {each['where']}: {each['what']} {each['remedy']}" for each in plan["elsewhere"]]
    return lines


def _text(result: dict[str, Any], state: Path) -> str:
    gone = ", ".join(part["name"] for part in result["parts"]) or "nothing"
    classifier = CLASSIFIER in result["kept"]
    lines = [f"The site {result['site']!r} has left its federation. Deleted here: {gone}."]
    if classifier:
        lines.append("Its own classifier stays, and works on without a server.")
    lines += _rest(result)
    lines.append(f"No client starts on this folder any more. Receipt {result['sha256'][:12]}: {state / MARK}.")
    return "\n".join(lines)
