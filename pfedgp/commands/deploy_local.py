"""``pfedgp deploy-local``: the deployed form of a federation, as separate Flower processes on this machine."""

import argparse
import json
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pfedgp.commands.simulate import add_assignments, check, collect_settings, run_folder
from pfedgp.local.processes import LocalFlower, write_app
from pfedgp.processes.signals import interrupted
from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.errors import ConfigError, RunFailedError

__all__ = ["add_arguments", "deploy_local", "main"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--sites", type=int, default=2, metavar="N", help="client processes (default: 2)")
    parser.add_argument("--rounds", type=int, default=3, metavar="N", help="communication rounds (default: 3)")
    parser.add_argument("--dataset", default=Settings.dataset, metavar="NAME", help="data set that the sites share out")
    parser.add_argument("--data-root", metavar="PATH", help="folder (or packed file) of the data set")
    parser.add_argument("--seed", type=int, default=Settings.seed, metavar="N", help="seed of everything random")
    add_assignments(parser)
    parser.add_argument("--stock", action="store_true", help="run Flower's own SuperNodes: some seconds more a round")
    parser.add_argument("--out", default="", metavar="FOLDER", help="folder of the run's artefacts")


def main(args: argparse.Namespace) -> int:
    """Deploy, run and stop; 0 if the run completed."""
    if args.sites < 1:
        raise ConfigError(f"--sites {args.sites} is too few; give at least 1.")
    named = {
        "dataset": args.dataset,
        "data_root": args.data_root,
        "rounds": args.rounds,
        "seed": args.seed,
        "clients": args.sites,
        "clients_per_round": args.sites,
        "classes_per_client": _classes_per_client(args),
    }
    settings = collect_settings({}, named, args.assignments)
    if settings.clients != args.sites:
        raise ConfigError(f"clients = {settings.clients} and --sites {args.sites} differ; leave out the first.")
    folder = run_folder(args.out, settings)
    check(settings, folder)
    deploy_local(settings, folder, print, stock=args.stock)
    return 0


def deploy_local(
    settings: Settings,
    out: Path,
    show: Callable[[str], Any],
    route: Callable[[int], int] = lambda port: port,
    *,
    stock: bool = False,
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
        with LocalFlower(folder) as flower:
            flower.start_superlink()
            port = route(flower.fleet_port)
            for index in range(settings.clients):
                flower.start_site(index, settings.clients, port, stock=stock)
            show(f"{settings.clients} sites, over gRPC to the SuperLink's fleet port 127.0.0.1:{flower.fleet_port}")
            run_id = flower.submit(folder / "pfedgp")
            for line in flower.follow(run_id):
                show(line)
            status, details = flower.status(run_id)
            if status != "finished:completed":
                raise RunFailedError(_reason(flower, out, status, details))
    return dict(json.loads((out / "summary.json").read_text(encoding="utf-8")))


def _reason(flower: LocalFlower, out: Path, status: str, details: str) -> str:
    """Say why a run did not complete: in the server app's own words where it left some."""
    summary = out / "summary.json"
    if summary.is_file():
        reason = json.loads(summary.read_text(encoding="utf-8")).get("reason")
        if reason:
            return str(reason)
    stopped = [name for name, process in flower.processes.items() if process.poll() is not None]
    ends = "".join(f" {name} had stopped: {flower.tail(name)}" for name in stopped if name.startswith("site-"))
    return f"The run ended as {status} ({details or 'no details'}); the lines above say more.{ends}"


def _classes_per_client(args: argparse.Namespace) -> int:
    """The smallest number of classes, from two on, that lets the sites hold each class equally often."""
    classes = len(load_dataset(args.dataset, args.data_root or "", args.seed).class_names)
    step = classes // math.gcd(classes, args.sites)
    return min(classes, step * math.ceil(2 / step))
