"""A snapshot of a deployment: what its state folder says and, where it answers, its server."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pfedgp import __version__
from pfedgp.dashboard.attention import judge
from pfedgp.dashboard.certificates import Certificates
from pfedgp.dashboard.refused import publications, refusals
from pfedgp.dashboard.runs import FoundRun, Runs
from pfedgp.operator.addresses import parse_address
from pfedgp.operator.connection import Target
from pfedgp.operator.control import Run, UnreachableError
from pfedgp.operator.overview import server_facts, site_facts
from pfedgp.operator.state import ServerState
from pfedgp.processes.called_as import shown
from pfedgp.processes.proxies import keep_direct
from pfedgp_core.errors import ConfigError, PFedGPError

__all__ = ["FORMAT", "SCHEMA_VERSION", "Watch"]

FORMAT, SCHEMA_VERSION = "pfedgp-dashboard", 1


class Watch:
    """Looks at one deployment again and again, and changes nothing.

    Parameters
    ----------
    state : ServerState
        A folder that exists; a server may run on it later.
    control : str
        ``HOST:PORT`` of a server in another container or host; empty: that of the state folder.
    ca : Path or None
        With `control`, certificate of the authority.
    """

    def __init__(self, state: ServerState, control: str = "", ca: Path | None = None) -> None:
        self._state, self._control, self._ca = state, control, ca
        self._runs, self._certificates = Runs(state.runs), Certificates()
        self.found: list[FoundRun] = []  # of the last look

    def look(self) -> dict[str, Any]:
        """The present state, as JSON values; docs/dashboard.md describes each field."""
        record, damage = self._record()
        target = self._target(record)
        running = self._running(target)
        certs, ca = _path(record.get("certs")), self._ca or _path(record.get("ca"))
        keys = _keys(certs)
        nodes, known, problem = self._ask(target) if target and running is not False else ([], [], "")
        answers = bool(target) and running is not False and not problem
        sites = _joined(nodes, keys) if answers else _unasked(keys, False if running is False else None)
        server = self._facts(target)
        self.found, total = self._runs.find(known, target.local if target else lambda _: None)
        refused, beyond = refusals(self.found, {site["id"]: site["name"] for site in sites if site["id"]})
        snapshot: dict[str, Any] = {
            "format": FORMAT,
            "schema_version": SCHEMA_VERSION,
            "version": __version__,
            "time": datetime.now(UTC).isoformat(timespec="seconds"),
            "server": {
                "state": shown(str(self._state.path)),
                "running": running,
                "answers": answers,
                "problem": damage or problem,
                "started": record.get("started"),
                "control_address": server.get("control_address"),
                "fleet_address": server.get("fleet_address") or record.get("fleet_address"),
                "processes": server.get("processes", {}),
                "database": record.get("database"),
                "versions": record.get("versions", {}),
                "start_command": self._start_command(record),
            },
            "certificates": self._certificates.dates(certs, ca, target.address if target and answers else ""),
            "sites": sites,
            "runs": [one.row for one in self.found],
            "runs_total": total,
            "refusals": refused,
            "refusals_beyond": beyond,
            "publications": publications(self.found),
        }
        sendable: dict[str, Any] = _sendable(judge(snapshot))
        return sendable

    def _record(self) -> tuple[dict[str, Any], str]:
        """``server.json``, empty where there is none, and what is wrong with it."""
        if not self._state.has_server():
            return {}, ""
        try:
            return self._state.server(), ""
        except PFedGPError as error:
            return {}, str(error)

    def _target(self, record: dict[str, Any]) -> Target | None:
        address = self._control or record.get("control_address", "")
        ca = self._ca or _path(record.get("ca"))
        if not address or ca is None:
            return None
        try:
            host = parse_address(address, "control_address")[0]
        except ConfigError:
            return None
        here = not self._control
        if here:
            keep_direct(host)  # it runs on this machine
        return Target(address, ca, self._state, "", here)

    def _running(self, target: Target | None) -> bool | None:
        """Whether the server runs; None where it runs elsewhere, if it does."""
        return None if target and not target.here else self._state.running() is not None

    def _ask(self, target: Target) -> tuple[list[dict[str, Any]], list[Run], str]:
        """Sites and runs as the server knows them, or why it does not say."""
        try:
            with target.connect() as control:
                return site_facts(target, control), control.runs(), ""
        except UnreachableError as error:
            return [], [], str(error)
        except PFedGPError as error:
            return [], [], f"The server cannot be asked: {error}"

    def _facts(self, target: Target | None) -> dict[str, Any]:
        try:
            return server_facts(target) if target else {}
        except PFedGPError:  # its record is damaged, which the snapshot says
            return {}

    def _start_command(self, record: dict[str, Any]) -> str:
        if not record or self._control:
            return ""
        try:
            return shown(self._state.start_command())
        except PFedGPError:  # the file was changed meanwhile
            return ""


def _joined(nodes: list[dict[str, Any]], keys: list[str]) -> list[dict[str, Any]]:
    """Sites that the server knows, and keys that it has not registered yet."""
    known = [{**{k: v for k, v in one.items() if k != "online"}, "connected": one["online"]} for one in nodes]
    names = {site["name"] for site in known}
    new = _unasked([key for key in keys if key not in names], connected=False)
    return [{**site, "registered": True} for site in known] + [{**site, "registered": False} for site in new]


def _unasked(keys: list[str], connected: bool | None) -> list[dict[str, Any]]:
    """The sites by their keys alone."""
    about = {"id": None, "since": None, "heard": None, "connected": connected, "registered": True}
    return [{"name": name, **about} for name in keys]


def _keys(certs: Path | None) -> list[str]:
    """Names of the sites whose public keys lie in the folder of the certificates."""
    try:
        return sorted(path.stem for path in (certs / "clients").glob("*.pub")) if certs else []
    except OSError:
        return []


def _path(text: Any) -> Path | None:
    return Path(text) if isinstance(text, str) and text else None


def _sendable(value: Any) -> Any:
    """The same with a question mark for each half of a character, which a damaged file can hold and UTF-8 cannot."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, dict):
        return {_sendable(key): _sendable(each) for key, each in value.items()}
    return [_sendable(each) for each in value] if isinstance(value, list | tuple) else value
