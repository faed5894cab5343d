"""The server's side: its processes, ports, certificates, sites, database and clock."""

import stat
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from pfedgp.doctor.local import check_folder, check_versions, warning
from pfedgp.doctor.problem import Check, Deadline, Problem, checked
from pfedgp.doctor.reach import Address, parse_address
from pfedgp.doctor.site import check_connection
from pfedgp.doctor.tls import NEW_CERTIFICATE, served_certificate
from pfedgp.doctor.tls_certificates import day, expiry_warning
from pfedgp.operator.addresses import is_loopback, reachable_as
from pfedgp.operator.authority import read_certificate, subject_names
from pfedgp.operator.control import Control, SuperNode
from pfedgp.operator.server_checks import check_certificates
from pfedgp.operator.sites import read_public_key
from pfedgp.operator.state import ServerState
from pfedgp.processes.called_as import control_is_internal
from pfedgp.processes.linux import clock_is_synchronised, is_alive, listening_on
from pfedgp_core.errors import PFedGPError, UnreadableFileError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.wire.versions import software_versions
from pfedgp_core.words import few, size

__all__ = ["check_server"]

PROGRAMS = {"superlink": "flower-superlink", "superexec": "flower-superexec"}


def check_server(state: ServerState, certs: Path | None) -> Iterator[Check]:
    """Yield one check after the other of a server's machine.

    Parameters
    ----------
    state : ServerState
        Of ``pfedgp server``.
    certs : Path or None
        Folder of ``pfedgp certs``; None means the one that the server was started with.
    """
    try:
        record = state.server()
    except PFedGPError as error:
        record = {}
        yield Check("server", "", Problem("no-server", str(error), "", lasting=True))
    certs = certs or (Path(record["certs"]) if record.get("certs") else None)
    yield check_versions("those of the sites are in the summary of every run")
    if record:
        yield from _versions_of_run(state, record)
        pid = state.running()
        if pid is None or is_alive(pid, "pfedgp"):
            yield from _processes(state, record, pid)
            yield from _ports(record)
        else:
            yield Check("server", f"runs elsewhere (process {pid} of another container): run the doctor there too")
    if certs is not None:
        yield checked("certificates", partial(_certificates, certs))
        yield from _private_files(certs, state)
    if record and certs is not None and state.running() is not None:
        yield from _from_outside(record, certs)
        yield checked("sites", partial(_sites, record, certs))
    yield from check_folder(state.path)
    if record:
        yield _database(state, record)
    yield _clock()


def _versions_of_run(state: ServerState, record: dict[str, Any]) -> Iterator[Check]:
    then, now = record.get("versions", {}), software_versions()
    changed = [f"{name} {then[name]} -> {now.get(name)}" for name in then if then[name] != now.get(name)]
    if changed and state.running() is not None:
        problem = warning("old-server", f"The server runs with older packages ({', '.join(changed)}).", "Restart it.")
        yield Check("running versions", "", problem)
    summaries = sorted(state.runs.glob("*/summary.json"), key=lambda path: path.stat().st_mtime)
    if summaries:
        others = _read(summaries[-1]).get("other_client_versions") or []
        if others:
            sentence = f"In the run {summaries[-1].parent.name}, sites had other versions ({few(others, 20)})."
            problem = warning("other-versions", sentence, "Install the same version of pfedgp everywhere.")
            yield Check("sites' versions", "", problem)


def _processes(state: ServerState, record: dict[str, Any], pid: int | None) -> Iterator[Check]:
    if pid is None:
        sentence = f"No server runs on {state.path}."
        yield Check("server", "", Problem("no-server", sentence, "Start it with `pfedgp server`.", lasting=True))
        return
    yield Check("server", f"runs (process {pid}) since {record.get('started', 'an unknown time')}")
    for name, number in record.get("processes", {}).items():
        if is_alive(number, PROGRAMS.get(name, name)):
            yield Check(name, f"runs (process {number})")
        else:
            sentence = f"The {name} (process {number}) does not run."
            remedy = f"The server starts it again by itself; if it does not, {state.logs / name}.log says why."
            yield Check(name, "", Problem("process", sentence, remedy, lasting=False))


def _ports(record: dict[str, Any]) -> Iterator[Check]:
    fleet, control = parse_address(record["fleet_address"]), parse_address(record["control_address"])
    for topic, address in (("Fleet port", fleet), ("Control port", control)):
        hosts = listening_on(address.port)
        if hosts is None:
            continue
        if not hosts:
            sentence = f"Nothing listens on the {topic} {address.port} of this machine."
            yield Check(topic, "", Problem("not-listening", sentence, "Restart `pfedgp server`.", lasting=False))
            continue
        shown = ["all addresses" if host in ("::", "0.0.0.0") else host for host in hosts]
        fact, listens = f"{address.port} on {', '.join(shown)}", record.get("control_listens", "")
        if topic == "Control port" and control_is_internal(listens):
            yield Check(topic, f"{fact}; the server's own containers alone reach it")
        else:
            yield Check(topic, fact, _exposure(topic, hosts))


def _exposure(topic: str, hosts: list[str]) -> Problem | None:
    local = all(map(is_loopback, hosts))
    if topic == "Control port" and not local:
        return warning(
            "control-exposed",
            f"The Control port listens on {', '.join(hosts)}, and whoever reaches it can run code on this server.",
            "Start the server with --control-address 127.0.0.1:8000, or keep the port on an internal network.",
        )
    if topic == "Fleet port" and local:
        return warning(
            "fleet-local",
            "The Fleet port listens on this machine alone, so sites elsewhere cannot connect.",
            "Start the server with --fleet-address 0.0.0.0:9092, and let that port through the firewall.",
        )
    return None


def _certificates(certs: Path) -> Check:
    until = check_certificates(certs)
    certificate = read_certificate(certs / "server.crt")
    fact = f"fit together, valid until {day(until)}, for {', '.join(subject_names(certificate))}"
    problem = expiry_warning(certificate, "The server's certificate", NEW_CERTIFICATE) or expiry_warning(
        read_certificate(certs / "ca.crt"), "The CA certificate", "Plan new certificates for the server and all sites."
    )
    return Check("certificates", fact, problem)


def _private_files(certs: Path, state: ServerState) -> Iterator[Check]:
    for path in (certs / "ca.key", certs / "server.key", state.secret):
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError:
            continue
        if mode & 0o077:
            sentence = f"{path} can be read by other users of this machine (mode {mode:04o})."
            yield Check("secrets", "", warning("file-mode", sentence, f"Keep it to yourself: chmod 600 {path}."))


def _from_outside(record: dict[str, Any], certs: Path) -> Iterator[Check]:
    """Connect to the Fleet port as a site does."""
    listens = parse_address(record["fleet_address"])
    address = Address(reachable_as(listens.host), listens.port)
    problems = [c.problem for c in check_connection(str(address), certs / "ca.crt", None) if c.problem]
    serious = [problem for problem in problems if not problem.warning]
    yield Check("as a site sees it", "the Fleet port answers with TLS and Flower", serious[0] if serious else None)
    served = served_certificate(address, Deadline(5.0))
    if not serious and served is not None and served != read_certificate(certs / "server.crt"):
        sentence = "The server still shows an older certificate than the one in its folder."
        yield Check("certificates", "", warning("old-certificate", sentence, "Restart `pfedgp server`."))


def _sites(record: dict[str, Any], certs: Path) -> Check:
    with Control(record["control_address"], certs / "ca.crt") as control:
        nodes = {node.public_key.strip(): node for node in control.nodes()}
    missing, told = [], []
    for path in sorted((certs / "clients").glob("*.pub")):
        try:
            node = nodes.pop(read_public_key(path).strip(), None)
        except PFedGPError as error:
            return Check("sites", "", Problem("site-key", str(error), "", lasting=True))
        if node is None:
            missing.append(path.stem)
        else:
            told.append(f"{path.stem} {_connected(node)}")
    told += [f"{node.name} {_connected(node)} (no key in {certs / 'clients'})" for node in nodes.values()]
    problem = None
    if missing:
        remedy = "The server registers keys within seconds of their arrival; if it does not, restart it."
        problem = warning("not-registered", f"Not registered yet: {few(missing, 20)}.", remedy)
    return Check("sites", few(told, 20) or "none is registered", problem)


def _connected(node: SuperNode) -> str:
    return "is connected" if node.online else "is not connected"


def _database(state: ServerState, record: dict[str, Any]) -> Check:
    if not record.get("database"):
        sentence = "The server runs without a database, so a restart loses its runs and registrations."
        return Check("database", "", warning("no-database", sentence, "Start it without --no-database."))
    files = [path for path in state.path.glob(f"{state.database.name}*") if path.is_file()]
    return Check("database", f"{state.database}, {size(sum(path.stat().st_size for path in files))}")


def _clock() -> Check:
    kept = clock_is_synchronised()
    if kept is None:
        return Check("clock", "whether it is synchronised cannot be told here")
    problem = None
    if not kept:
        problem = warning(
            "clock-free",
            "Nothing keeps this machine's clock synchronised, and sites are refused whose clocks differ from it.",
            "Turn on NTP (timedatectl set-ntp true); in a container, on its host.",
        )
    return Check("clock", "is kept synchronised", problem)


def _read(path: Path) -> dict[str, Any]:
    try:
        return read_object(path)
    except UnreadableFileError:
        return {}
