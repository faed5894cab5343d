"""The deployed form of a federation, as separate Flower processes on this machine."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pfedgp.local.processes import LocalFlower, write_app
from pfedgp.processes.signals import interrupted
from pfedgp_core.backbones import is_frozen
from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.files.json_file import read_object

__all__ = ["deploy_local"]


def deploy_local(
    settings: Settings,
    out: Path,
    show: Callable[[str], Any],
    route: Callable[[int], int] = lambda port: port,
    *,
    stock: bool = False,
    processes: type[LocalFlower] = LocalFlower,
) -> dict[str, Any]:
    """Run a federation in processes of its own: SuperLink, a client for each site, and the app as a Flower bundle.

    All connections are plaintext on the loopback interface.

    Parameters
    ----------
    settings : Settings
        ``clients`` is the number of sites.
    out : Path
        Absolute folder of the artefacts.
    show : callable
        Takes each line that the server app prints.
    route : callable
        Takes the SuperLink's fleet port and returns the one that the sites are told, for a proxy between them.
    stock : bool
        Run Flower's own SuperNodes, unchanged: several seconds more a round.
    processes : type of LocalFlower
        Starts Flower's programs.

    Returns
    -------
    dict
        The summary, as in ``summary.json``.

    Raises
    ------
    RunFailedError
        A process did not start, or the run did not complete.
    """
    with interrupted(), tempfile.TemporaryDirectory(prefix="pfedgp-") as temporary:
        folder = Path(temporary)
        write_app(folder / "pfedgp", settings, out)
        with processes(folder) as flower:
            flower.start_superlink()
            port = route(flower.fleet_port)
            for index in range(settings.clients):
                flower.start_site(index, settings.clients, port, stock=stock, options=_trust(settings))
            show(f"{settings.clients} sites, over gRPC to the SuperLink's fleet port 127.0.0.1:{flower.fleet_port}")
            run_id = flower.submit(folder / "pfedgp")
            for line in flower.follow(run_id):
                show(line)
            status, details = flower.status(run_id)
            if status != "finished:completed":
                raise RunFailedError(_reason(flower, out, status, details))
    return read_object(out / "summary.json")


def _trust(settings: Settings) -> list[str]:
    """The options by which the sites take from this run what they would take from no server: its code and its data."""
    options = ["--data-root", settings.data_root] if settings.data_root else []
    for kind, name in (("method", settings.method), ("network", settings.network)):
        options += [f"--allow-{kind}", name] if ":" in name and not is_frozen(name) else []
    return options


def _reason(flower: LocalFlower, out: Path, status: str, details: str) -> str:
    """Say why a run did not complete: in the server app's own words where it left some."""
    summary = out / "summary.json"
    if summary.is_file():
        reason = read_object(summary).get("reason")
        if reason:
            return str(reason)
    stopped = [name for name, process in flower.processes.items() if process.poll() is not None]
    ends = "".join(f" {name} had stopped: {flower.tail(name)}" for name in stopped if name.startswith("site-"))
    return f"The run ended as {status} ({details or 'no details'}); the lines above say more.{ends}"
