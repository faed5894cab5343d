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
        sites, known, problem = self._ask(target) if target and running is not False else ([], [], "")
        answers = bool(target) and running is not False and not problem
        if not answers:
            sites = self._registered(connected=False if running is False else None)
        server = server_facts(target) if target else {}
        self.found, total = self._runs.find(known, target.local if target else self._local)
        names = {site["id"]: site["name"] for site in sites if site["id"]}
        refused, beyond = refusals(self.found, names)
        certs = Path(record["certs"]) if record.get("certs") else None
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
            "certificates": self._certificates.dates(
                certs, self._ca or _path(record.get("ca")), target.address if target and answers else ""
            ),
            "sites": sites,
            "runs": [one.row for one in self.found],
            "runs_total": total,
            "refusals": refused,
            "refusals_beyond": beyond,
            "publications": publications(self.found),
        }
        return judge(snapshot)

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
                return self._with_keys(site_facts(target, control)), control.runs(), ""
        except UnreachableError as error:
            return [], [], str(error)
        except PFedGPError as error:
            return [], [], f"The server cannot be asked: {error}"

    def _with_keys(self, sites: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Sites that the server knows, and keys that it has not registered yet."""
        known = [{**site, "connected": site["online"], "registered": True} for site in sites]
        for site in known:
            del site["online"]
        names = {site["name"] for site in known}
        return known + [{**site, "registered": False} for site in self._registered(False) if site["name"] not in names]

    def _registered(self, connected: bool | None) -> list[dict[str, Any]]:
        """The sites whose keys lie in the folder of the certificates."""
        certs = _path(self._record()[0].get("certs"))
        try:
            names = sorted(path.stem for path in (certs / "clients").glob("*.pub")) if certs else []
        except OSError:
            names = []
        about = {"id": None, "since": None, "heard": None, "connected": connected, "registered": True}
        return [{"name": name, **about} for name in names]

    def _local(self, path: str) -> Path | None:
        return self._state.path / path if path else None

    def _start_command(self, record: dict[str, Any]) -> str:
        if not record or self._control:
            return ""
        try:
            return shown(self._state.start_command())
        except PFedGPError:  # the file was changed meanwhile
            return ""


def _path(text: Any) -> Path | None:
    return Path(text) if isinstance(text, str) and text else None
