"""``pfedgp policy``: a site's policy is made, or shown with what it has refused and what has left under it."""

import argparse
import dataclasses
import json
from pathlib import Path
from typing import Any

from pfedgp.governance.state import add_state
from pfedgp.living.options import show
from pfedgp_core.errors import ConfigError, PolicyError
from pfedgp_core.files.private import private_folder
from pfedgp_core.files.whole import write_whole
from pfedgp_core.policy.ledger import Ledger
from pfedgp_core.policy.refusals import last_refusal
from pfedgp_core.policy.runs import SHOWN, Runs
from pfedgp_core.policy.site_policy import FILE, FOLDER, SitePolicy, read_policy
from pfedgp_core.words import counted

__all__ = ["TEMPLATE", "add_arguments", "main"]

TEMPLATE = """\
# The policy of this site. It is read anew for every request; a mistake here refuses everything.
# A line that begins with # is not in force. docs/governance.md explains each key.

runs = "approved"              # "approved": those of pfedgp approve alone; "any": all that the rest allows
# methods = ["pfedgp"]         # methods that a run may name
# networks = ["auto", "lenet"] # networks that a run may name
# shared-head = false          # an update holds no softmax head; true: of runs = "any" too
# min-samples = 50             # with fewer training samples the site says nothing
# max-update-norm = 10.0       # largest norm of what leaves minus what arrived
# max-updates = 100            # updates that one run gets (default: twice its rounds)
# max-evaluations = 60         # evaluations that one run gets (default: twice those of its rounds, and ten)
# min-evaluate-every = 5       # least rounds from one evaluation of a run to the next
# dp-noise = 1.0               # the site's own noise on its updates, in units of dp-clip
# dp-clip = 1.0                # norm to which an update is shortened before the noise
# max-epsilon = 8.0            # of all updates that ever leave
# dp-delta = 1e-5
# hours = ["Mon-Fri 18:00-07:00", "Sat-Sun 00:00-24:00"]   # in this machine's time
# metrics = ["results"]        # of: results, calibration, evidence, training, seconds, columns
# min-cell = 5                 # no count of fewer samples leaves
# publications = true          # take published models
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    add_state(parser)
    parser.add_argument("--init", action="store_true", help="make a policy that lets in approved runs alone")


def main(args: argparse.Namespace) -> int:
    """Print the policy in force, or make one; PolicyError where it cannot be read, which refuses everything."""
    folder = args.state.expanduser().absolute()
    if args.init:
        _make(folder)
    result = _found(folder)
    show(result, _text(result), args.json)
    return 0


def _make(state: Path) -> None:
    path = state / FOLDER / FILE
    if path.exists():
        raise ConfigError(f"{path} is there already: edit it, or remove it first.")
    private_folder(state, (FOLDER, "client.json"))
    private_folder(path.parent, (FILE,))
    write_whole(path, TEMPLATE)
    path.chmod(0o600)


def _found(state: Path) -> dict[str, Any]:
    policy = read_policy(state)
    if policy is None:
        return {"file": str(state / FOLDER / FILE), "policy": None}
    runs, ledger = Runs.read(state), Ledger.read(state)
    try:
        epsilon: float | None = ledger.epsilon(policy.dp_delta)
    except PolicyError:
        epsilon = None
    return {
        "file": str(state / FOLDER / FILE),
        "policy": _keys(policy),
        "approved": sorted(runs.approved),
        "asked": sorted(set(runs.asked) - set(runs.approved)),
        "updates_sent": sum(ledger.updates.values()),
        "evaluations_sent": sum(ledger.evaluations.values()),
        "epsilon_spent": epsilon if epsilon is not None and epsilon < float("inf") else None,
        "last_refusal": last_refusal(state) or None,
    }


def _keys(policy: SitePolicy) -> dict[str, Any]:
    """Every key with its value, as in the file."""
    values = {f.name.replace("_", "-"): getattr(policy, f.name) for f in dataclasses.fields(policy)}
    values["hours"] = [hours.text for hours in policy.hours]
    return {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}


def _text(result: dict[str, Any]) -> str:
    if result["policy"] is None:
        return f"This site has no policy: it answers every run of its server. Make one with --init: {result['file']}."
    lines = [f"Policy {result['file']}:"]
    lines += [f"  {key} = {json.dumps(value)}" for key, value in result["policy"].items() if value is not None]
    approved = ", ".join(key[:SHOWN] for key in result["approved"]) or "none"
    lines.append(f"Approved runs: {approved}.")
    if result["asked"]:
        lines.append(f"Refused for want of approval: {', '.join(key[:SHOWN] for key in result['asked'])}.")
    left = counted(result["updates_sent"], "update"), counted(result["evaluations_sent"], "evaluation")
    lines.append(f"Left since the site has a policy: {left[0]}, {left[1]}.")
    if result["epsilon_spent"]:
        lines.append(f"Epsilon spent: {result['epsilon_spent']:.3g}.")
    if refusal := result["last_refusal"]:
        lines.append(f"Last refusal, {refusal['time']}: {refusal['reason']}")
    return "\n".join(lines)
