"""The judgement of a snapshot: is everything well, and what needs a person first."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pfedgp.dashboard.certificates import SHOWN_BY_SERVER
from pfedgp.doctor.tls import NEW_CA, NEW_CERTIFICATE
from pfedgp.doctor.tls_certificates import EXPIRES_SOON
from pfedgp.processes.called_as import called_as, shown
from pfedgp_core.words import counted, few

__all__ = ["judge"]

BROKEN, ATTENTION = "broken", "attention"
STARTING = 300.0  # seconds that a run may take to its first round
QUIET = 5.0  # usual rounds without a sign after which a run is said to stand still
LEAST_QUIET = 120.0  # seconds that every round may take
DOCTOR = "At the site, pfedgp doctor says what keeps it away."


def judge(snapshot: dict[str, Any]) -> dict[str, Any]:
    """The snapshot with ``headline`` and ``attention`` behind its first fields.

    Parameters
    ----------
    snapshot : dict
        As `Watch.look` makes it, without the two.
    """
    found = list(_all(snapshot))
    found.sort(key=lambda item: item["level"] != BROKEN)  # stable: the order of the rules otherwise
    first = {key: snapshot[key] for key in ("format", "schema_version", "version", "time")}
    return {**first, "headline": _headline(snapshot, found), "attention": found, **snapshot}


def _headline(snapshot: Mapping[str, Any], found: list[dict[str, str]]) -> dict[str, str]:
    if not found:
        return {"level": "ok", "text": f"All is well: {_calm(snapshot)}."}
    level = found[0]["level"]
    if level == BROKEN:
        more = f" {counted(len(found) - 1, 'other thing').capitalize()} to see to." if len(found) > 1 else ""
        return {"level": level, "text": f"{found[0]['text']}{more}"}
    needs = "needs" if len(found) == 1 else "need"
    return {"level": level, "text": f"{counted(len(found), 'thing')} {needs} attention: {_calm(snapshot)}."}


def _calm(snapshot: Mapping[str, Any]) -> str:
    """Sites and runs in a few words."""
    sites = snapshot["sites"]
    there = sum(site["connected"] is True for site in sites)
    words = f"{there} of {counted(len(sites), 'site')} connected" if sites else "no site is registered yet"
    live = [run for run in snapshot["runs"] if run["live"]]
    if not live:
        return f"{words}, no run under way"
    run = live[0]
    at = f" at round {run['round'] or 0} of {run['rounds']}" if run["rounds"] else ""
    more = f" and {len(live) - 1} more" if len(live) > 1 else ""
    kind = "run" if run["kind"] == "training" else run["kind"]
    doing = at or f" {run['status']}"
    return f"{words}, {kind} {run['name']}{doing}{more}"


def _all(snapshot: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    yield from _server(snapshot)
    for certificate in snapshot["certificates"]:
        yield from _certificate(certificate)
    if {"server.crt", SHOWN_BY_SERVER} <= {row["name"] for row in snapshot["certificates"]}:
        text = "The server still shows another certificate than the one in its folder."
        yield _item(ATTENTION, "certificates", text, "Restart pfedgp server between two runs.")
    yield from _sites(snapshot)
    live = [run for run in snapshot["runs"] if run["live"]]
    for run in live:
        yield from _live(run, snapshot)
    training = [run for run in snapshot["runs"] if run["kind"] == "training"]
    if training and not training[0]["live"]:
        yield from _ended(training[0], snapshot)
    yield from _refused(snapshot, {run["name"] for run in [*live, *training[:1]]})
    yield from _published(snapshot)
    for run in snapshot["runs"][:5]:
        for damage in run["damage"]:
            yield _item(ATTENTION, "runs", f"A file of {run['name']} cannot be read ({damage}).", "Restore it.")


def _server(snapshot: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    server = snapshot["server"]
    start = f"Start it: {server['start_command']}" if server["start_command"] else "Start it with pfedgp server."
    if server["problem"] and server["running"] is not False:
        yield _item(BROKEN, "server", server["problem"], "")
    elif server["running"] is False:
        if server["problem"]:
            yield _item(BROKEN, "server", server["problem"], start)
        elif server["started"] is None:
            yield _item(BROKEN, "server", f"No server has run on {server['state']} yet.", "Start one: pfedgp server.")
        else:
            yield _item(BROKEN, "server", "The server does not run.", start)
        return
    elif not server["answers"] and server["running"]:
        yield _item(ATTENTION, "server", "The server starts, and does not say yet where it answers.", "")
    down = [name for name, up in server["processes"].items() if not up]
    if down:
        remedy = "The server starts it again by itself; if it does not, its log in the state folder says why."
        yield _item(BROKEN, "server", f"The {few(down)} of the server does not run.", remedy)


def _certificate(row: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    name, remedy = row["name"], NEW_CA if row["name"] == "ca.crt" else NEW_CERTIFICATE
    if not row["readable"]:
        yield _item(ATTENTION, "certificates", f"The certificate {name} cannot be read.", "Restore the file.")
        return
    what = f"The certificate {name}"
    if row["days_left"] < 0:
        yield _item(BROKEN, "certificates", f"{what} expired on {row['until'][:10]}.", remedy)
    elif datetime.fromisoformat(row["since"]) > datetime.now(UTC):
        yield _item(BROKEN, "certificates", f"{what} is not valid before {row['since'][:16]} UTC.", "Set the clock.")
    elif row["days_left"] < EXPIRES_SOON.days:
        left = counted(row["days_left"], "day")
        yield _item(ATTENTION, "certificates", f"{what} expires in {left}, on {row['until'][:10]}.", remedy)


def _sites(snapshot: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    if not snapshot["server"]["answers"]:
        return
    new = [site["name"] for site in snapshot["sites"] if not site["registered"]]
    if new:
        remedy = "The server registers keys within seconds of their arrival; if it does not, restart it."
        yield _item(ATTENTION, "sites", f"Not registered yet: {few(new)}.", remedy)
    sites = [site for site in snapshot["sites"] if site["registered"]]
    gone = [site["name"] for site in sites if not site["connected"]]
    if gone and len(gone) == len(sites):
        yield _item(ATTENTION, "sites", f"No site is connected ({few(gone)}).", DOCTOR)
    elif gone:
        are = "is" if len(gone) == 1 else "are"
        yield _item(ATTENTION, "sites", f"{counted(len(gone), 'site')} {are} not connected: {few(gone)}.", DOCTOR)


def _live(run: Mapping[str, Any], snapshot: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    name, usual = run["name"], run["round_seconds"]
    seen = run["changed"] or run["started"]
    if seen and run["kind"] == "training":
        quiet = (datetime.fromisoformat(snapshot["time"]) - datetime.fromisoformat(seen)).total_seconds()
        waits = f"See for whom it waits: {_command('run --attach', name, snapshot)}"
        if usual is None and quiet > STARTING:
            yield _item(ATTENTION, "runs", f"The run {name} has had no round for {_time(quiet)}.", waits)
        elif usual is not None and quiet > max(LEAST_QUIET, QUIET * usual):
            text = f"The run {name} has had no new round for {_time(quiet)}; one takes {_time(usual)} as a rule."
            yield _item(ATTENTION, "runs", text, waits)
    if run["last_failed"]:
        failed = few([f"{site} ({reason})" for site, reason in run["last_failed"].items()])
        text = f"Without a usable reply in round {run['round']} of {name}: {failed}."
        yield _item(ATTENTION, "runs", text, "The log of the site says more.")


def _ended(run: Mapping[str, Any], snapshot: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """What the latest run came to, where it is over."""
    again = f"Go on: {_command('resume', run['name'], snapshot)}"
    if run["status"] == "cut off":
        yield _item(ATTENTION, "runs", f"The run {run['name']} was cut off.", again)
    elif run["status"] == "failed":
        reason = run["reason"] or "no reason is known."
        yield _item(ATTENTION, "runs", f"The run {run['name']} failed: {reason}", again)


def _refused(snapshot: Mapping[str, Any], runs: set[str]) -> Iterator[dict[str, str]]:
    """Sites that cannot take part in a run that counts, by the last words that they were told."""
    told: dict[str, dict[str, Any]] = {}
    for row in snapshot["refusals"]:
        if row["kind"] == "refused" and row["run"] in runs and not row["took_part"]:
            told.setdefault(row["site"], row)
    for site, row in list(told.items())[:5]:
        text = f"{site} cannot take part in {row['run']}: {row['reason']}"
        yield _item(ATTENTION, "refusals", text, "The site was told the same.")


def _published(snapshot: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    for row in snapshot["publications"][:1]:
        names = [site["name"] for site in row["sites"] if site["error"]]
        if names:
            text = f"{counted(len(names), 'site')} did not take the model of {row['run']}: {few(names)}."
            yield _item(ATTENTION, "publications", text, "Publish it again once they are mended.")


def _item(level: str, topic: str, text: str, remedy: str) -> dict[str, str]:
    return {"level": level, "topic": topic, "text": text, "remedy": remedy}


def _command(verb: str, run: str, snapshot: Mapping[str, Any]) -> str:
    """A command as the operator gives it."""
    return shown(f"pfedgp {verb} {run}" + ("" if called_as() else f" --state {snapshot['server']['state']}"))


def _time(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"
