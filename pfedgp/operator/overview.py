"""The state of a deployment at a glance: the server, its sites, its runs."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pfedgp.operator.authority import read_certificate
from pfedgp.operator.connection import Target
from pfedgp.operator.control import Control, Run, SuperNode
from pfedgp.processes.called_as import shown
from pfedgp_core.errors import PFedGPError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.regular import MalformedError, read_text
from server.run.files import LARGEST
from server.run.record_lines import parse_record

__all__ = ["overview", "printed", "server_facts", "site_facts"]


def overview(target: Target) -> dict[str, Any]:
    """Collect what there is to know, as JSON values; what cannot be found out is None.

    Raises
    ------
    UnreachableError
        The server does not answer.
    """
    with target.connect() as control:
        runs = control.runs()
        latest: dict[str, Run] = {}
        for run in runs:
            latest.setdefault(run.folder, run)  # a run that was resumed has a folder of an earlier one
        return {
            "server": server_facts(target),
            "sites": site_facts(target, control),
            "runs": [_run(target, run, latest[run.folder] if run.folder else run) for run in runs],
        }


def printed(state: dict[str, Any]) -> list[str]:
    """Return the lines of an overview for a person."""
    server = state["server"]
    lines = [f"server   {server['control_address']}"]
    if server["pid"] is not None:
        alive = ", ".join(f"{name} {'runs' if up else 'DOES NOT RUN'}" for name, up in server["processes"].items())
        lines.append(f"         process {server['pid']}; {alive}")
        lines.append(f"         sites connect to {server['fleet_address']}")
    if server["certificate_until"]:
        lines.append(f"         certificate valid until {server['certificate_until'][:10]}")
    lines.append("")
    lines.append("sites" if state["sites"] else "no site is registered")
    lines.extend(f"  {site['name']}: {_connection(site)}" for site in state["sites"])
    lines.append("")
    lines.append("runs" if state["runs"] else "no run yet")
    for run in state["runs"]:
        done = f", round {run['round']}" if run["round"] is not None else ""
        done += f" of {run['rounds']}" if done and run["rounds"] else ""
        on = f"{run['accuracy_on']} accuracy"
        score = f", {on} {100 * run['accuracy']:.1f} %" if run["accuracy"] is not None else ""
        lines.append(f"  {run['name']} ({run['id']}): {run['status']}{done}{score}")
        lines.append(f"    {'resumed as ' + run['resumed_as'] if run['resumed_as'] else shown(run['folder'])}")
        if run["reason"]:
            lines.append(f"    {shown(run['reason'])}")
    return lines


def _connection(site: dict[str, Any]) -> str:
    """Whether a site is connected, and since when; the server notices one that was killed up to a minute later."""
    if site["heard"]:
        return f"not connected, last heard of {site['heard'][:19]}"
    if not site["since"]:
        return "connected" if site["online"] else "not connected"
    since = site["since"][:19]
    return f"connected, last connected {since}" if site["online"] else f"not connected since {since} at the latest"


def server_facts(target: Target) -> dict[str, Any]:
    """What is known of the server without asking it; what cannot be found out is None."""
    # With --control the server may be elsewhere, and none have run on the state folder here.
    record = target.state.server() if target.state and target.state.has_server() else {}
    processes = record.get("processes", {}) if target.here else {}
    known: dict[str, Any] = {
        "control_address": target.address,
        "fleet_address": record.get("fleet_address"),
        "pid": target.state.running() if target.state and target.here else None,
        "processes": {name: Path(f"/proc/{pid}").exists() for name, pid in processes.items()},
        "database": record.get("database"),
        "certificate_until": None,
        "versions": record.get("versions"),
    }
    if record.get("certs"):
        try:
            until = read_certificate(Path(record["certs"]) / "server.crt").not_valid_after_utc
            known["certificate_until"] = until.isoformat()
        except PFedGPError:
            pass  # the folder may be readable for the server alone
    return known


def site_facts(target: Target, control: Control) -> list[dict[str, Any]]:
    """The registered sites by name, and whether each is connected; raises UnreachableError."""
    record = target.state.server() if target.state and target.here else {}
    started = datetime.fromisoformat(record["started"]).timestamp() if "started" in record else 0.0
    return [_site(node, started) for node in control.nodes()]


def _site(node: SuperNode, started: float) -> dict[str, Any]:
    """One site; `started` is when the server did, in seconds since the epoch."""
    gone = node.online and node.heard < started  # with the server before, and not back yet
    return {
        "name": node.name,
        "id": str(node.node_id),
        "online": node.online and not gone,
        "since": None if gone else node.changed,
        "heard": datetime.fromtimestamp(node.heard, UTC).isoformat() if gone else None,
    }


def _run(target: Target, run: Run, latest: Run) -> dict[str, Any]:
    """One run; `latest` is the last one of its folder, because its files describe only that one."""
    folder = target.local(run.folder) if latest is run else None
    rounds, summary = _rounds(folder), _summary(folder)
    last = rounds[-1] if rounds else {}
    accuracies = [r["validation_accuracy"] for r in rounds if r.get("validation_accuracy") is not None]
    return {
        "name": run.name,
        "id": str(run.run_id),
        "status": run.status,
        "folder": run.folder,
        "resumed_as": None if latest is run else str(latest.run_id),
        "round": last.get("round"),
        "rounds": run.config.get("rounds"),  # of a resumed run only where they were changed
        "accuracy": summary.get("accuracy", accuracies[-1] if accuracies else None),
        "accuracy_on": "test" if "accuracy" in summary else "validation",
        "reason": (summary.get("reason") or run.reason) if run.finished else "",
        "started": run.pending_at,
    }


def _rounds(folder: Path | None) -> list[dict[str, Any]]:
    if folder is None:
        return []
    try:
        return [parse_record(line) for line in read_text(folder / "metrics.jsonl", LARGEST).splitlines()]
    except (UnreadableFileError, MalformedError):
        return []


def _summary(folder: Path | None) -> dict[str, Any]:
    try:
        return read_object(folder / "summary.json") if folder else {}
    except UnreadableFileError:
        return {}
