"""``pfedgp approve``: a site's operator sees what a run would send, and lets it in or takes that back."""

import argparse
import sys
from pathlib import Path
from typing import Any

from pfedgp.governance.state import add_by, add_state, site_state
from pfedgp.living.options import show
from pfedgp_core.audit.log import FOLDER as AUDIT
from pfedgp_core.audit.log import AuditLog
from pfedgp_core.errors import ConfigError
from pfedgp_core.policy.ledger import Ledger
from pfedgp_core.policy.runs import SHOWN, Runs
from pfedgp_core.policy.site_policy import SitePolicy, read_policy
from pfedgp_core.policy.summary import described, summary
from pfedgp_core.site.history import user_name

__all__ = ["add_arguments", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("run", nargs="?", metavar="RUN", help="start of the run's hash, or its number (default: list)")
    add_state(parser)
    parser.add_argument("--yes", action="store_true", help="approve without a question; without it one is asked")
    parser.add_argument("--revoke", action="store_true", help="take the approval back: the run is refused from now on")
    add_by(parser)


def main(args: argparse.Namespace) -> int:
    """List the runs, or show one and approve or revoke it; 1 where the operator does not approve it."""
    state = site_state(args)
    policy = read_policy(state)
    if policy is None:
        raise ConfigError(f"{state} has no policy, so every run is let in: make one with pfedgp policy --init.")
    runs = Runs.read(state)
    if args.run is None:
        if args.yes or args.revoke:
            raise ConfigError("--yes and --revoke are about one run: name it.")
        result = _listed(runs)
        show(result, _list_text(result), args.json)
        return 0
    key = runs.find(args.run)
    if args.revoke:
        if key not in runs.approved:
            raise ConfigError(f"Run {key[:SHOWN]} is not approved: there is nothing to take back.")
        runs.revoke(key)
        AuditLog(state / AUDIT).add(("revoked", {"run": key, "by": args.by or user_name()}))
        show({"run": key, "approved": False}, f"Run {key[:SHOWN]} is refused from now on.", args.json)
        return 0
    return _approve(args, policy, runs, key, state)


def _approve(args: argparse.Namespace, policy: SitePolicy, runs: Runs, key: str, state: Path) -> int:
    about = summary(policy, runs.settings(key), Ledger.read(state))
    if not args.json:
        print(described(about))
    approved = key in runs.approved
    if not approved and (args.yes or _agrees(args)):
        by = args.by or user_name()
        AuditLog(state / AUDIT).add(("approved", {"run": key, "by": by}))
        runs.approve(key, by)
        approved = True
    done = f"Run {key[:SHOWN]} is {'approved' if approved else 'not approved'}."
    if not approved and not sys.stdin.isatty():
        done += " Nobody could be asked at a terminal: give --yes to approve it."
    show(about | {"approved": approved}, done, args.json)
    return 0 if approved or args.json else 1


def _agrees(args: argparse.Namespace) -> bool:
    """Ask the person at the terminal, where there is one and it does not expect JSON."""
    if args.json or not sys.stdin.isatty():
        return False
    print("Approve this run? Type yes: ", end="", flush=True)
    return sys.stdin.readline().strip() == "yes"


def _listed(runs: Runs) -> dict[str, Any]:
    known = runs.asked | runs.approved
    return {
        "runs": [
            {
                "run": key,
                "approved": key in runs.approved,
                "by": runs.approved.get(key, {}).get("by"),
                "time": entry.get("time"),
                "number": entry.get("run") or None,
            }
            for key, entry in known.items()
        ]
    }


def _list_text(result: dict[str, Any]) -> str:
    if not result["runs"]:
        return "No run has asked yet."
    return "\n".join(
        f"{run['run'][:SHOWN]}  {'approved by ' + str(run['by']) if run['approved'] else 'asks for approval'}"
        f", {run['time']}"
        for run in result["runs"]
    )
