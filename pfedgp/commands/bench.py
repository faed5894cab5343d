"""``pfedgp bench``: the costs of a client's update and evaluation; of a deployed or a simulated round."""

import argparse
import os
import tempfile
from pathlib import Path
from typing import Any

from pfedgp.benchmarking.cases import select
from pfedgp_core.errors import ArtefactError, ConfigError
from pfedgp_core.registry import NETWORKS, VARIANTS

__all__ = ["add_arguments", "main"]

_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
REPEATS, QUICK_REPEATS = 9, 3
SITES, ROUNDS, WORKERS = (2, 5), 40, 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the verb."""
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything measured to this file")
    parser.add_argument("--quick", action="store_true", help="a few small cases, few repeats: less than a minute")
    parser.add_argument("--variant", nargs="+", metavar="NAME", help=f"only these variants: {', '.join(VARIANTS)}")
    parser.add_argument("--classes", nargs="+", type=int, metavar="K", help="only clients with so many classes")
    parser.add_argument("--n", nargs="+", type=int, metavar="N", help="only clients with so many training samples")
    parser.add_argument(
        "--repeats",
        type=int,
        metavar="R",
        help=f"fewest pairs of update and epoch, in each case below 10000 samples (default: {REPEATS})",
    )
    parser.add_argument(
        "--device", default="cpu", metavar="NAME", help="cpu (default), cuda or cuda:1; on a GPU wall time is measured"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of data, weights and draws (default: 0)")
    deployed = parser.add_argument_group("deployed rounds")
    deployed.add_argument(
        "--deploy", action="store_true", help="measure rounds of whole deployments on this machine instead"
    )
    deployed.add_argument(
        "--sites", nargs="+", type=int, metavar="N", help="with so many sites each (default: 2 and 5)"
    )
    deployed.add_argument("--rounds", type=int, metavar="N", help=f"rounds to measure (default: {ROUNDS}; stock: 8)")
    deployed.add_argument(
        "--network", metavar="NAME", help="with this network (default: lenet); resnet18 has messages of 45 MB"
    )
    simulated = parser.add_argument_group("simulated rounds")
    simulated.add_argument(
        "--simulate", action="store_true", help="measure rounds of whole simulations on this machine instead"
    )
    simulated.add_argument(
        "--clients", nargs="+", type=int, metavar="N", help="with so many clients each (default: 20 to 5000)"
    )
    simulated.add_argument(
        "--engines",
        nargs="+",
        metavar="NAME",
        help="only these: pool, ray, flower (Flower's own FedAvg) and, where installed, pfl (that of pfl-research)",
    )
    simulated.add_argument("--workers", type=int, metavar="N", help="processes that train clients (default: 2)")


def main(args: argparse.Namespace) -> int:
    """Measure the selected cases; 0 once all are measured."""
    if args.simulate:
        return _simulations(args)
    if args.clients is not None or args.engines is not None or args.workers is not None:
        raise ConfigError("--clients, --engines and --workers belong to --simulate: give it too, or leave them out.")
    if args.deploy:
        return _deployments(args)
    if args.sites is not None or args.rounds is not None or args.network is not None:
        raise ConfigError(
            "--sites, --rounds and --network belong to --deploy, --rounds also to --simulate: give it too, or leave "
            "them out."
        )
    cases = select(args.variant, args.classes, args.n, args.quick)
    repeats = args.repeats if args.repeats is not None else QUICK_REPEATS if args.quick else REPEATS
    if repeats < 1:
        raise ConfigError(f"--repeats {repeats} measures nothing; give 1 or more.")
    cases[0].settings(args.seed)  # refuses a seed out of range
    _check_json(args.json)
    # The libraries below torch read these once, when they are loaded.
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    import torch

    torch.set_num_threads(1)
    from pfedgp_core.devices import choose_device
    from pfedgp_core.freed_memory import keep_freed_memory

    keep_freed_memory()  # as a client does
    device = choose_device(args.device)
    from pfedgp.benchmarking import report
    from pfedgp.benchmarking.clock import WORTH
    from pfedgp.benchmarking.machine import describe_machine, load
    from pfedgp.benchmarking.measure import CaseBenchmark

    measured: dict[str, Any] = {
        "machine": describe_machine(),
        "device": str(device),
        "seed": args.seed,
        "repeats": repeats,
        "cases": [],
        "scaling": [],
    }
    print(report.header(), flush=True)
    for case in cases:
        result = CaseBenchmark(case, repeats, args.seed, 0.0 if args.quick else WORTH, device).run()
        measured["cases"].append(result)
        measured["scaling"] = report.scaling(measured["cases"])
        measured["machine"]["load_at_end"] = load()
        print(report.line(result), flush=True)
        if args.json is not None:
            report.write(args.json, measured)  # after every case, so that a stopped benchmark is not lost
    print(report.footer(measured))
    return 0


def _deployments(args: argparse.Namespace) -> int:
    """Measure deployments: for each number of sites the stock path, then ours with and without a database."""
    if args.quick or args.variant or args.classes or args.n or args.repeats is not None or args.device != "cpu":
        raise ConfigError(
            "--deploy measures none of --quick, --variant, --classes, --n, --repeats and --device: leave them out."
        )
    sites, rounds = args.sites or list(SITES), args.rounds if args.rounds is not None else ROUNDS
    if min(sites) < 1 or rounds < 2:
        raise ConfigError("--deploy needs 1 site and 2 rounds at least.")
    if args.network is not None and args.network not in NETWORKS:
        raise ConfigError(f"--network {args.network!r} is not known: choose one of: {', '.join(NETWORKS)}.")
    _check_json(args.json)
    from pfedgp.benchmarking import deployment_report, report
    from pfedgp.benchmarking.deployment import IDLE_SECONDS, DeployedCase, measure
    from pfedgp.benchmarking.machine import describe_machine, load

    measured: dict[str, Any] = {"machine": describe_machine(), "idle_seconds": IDLE_SECONDS, "deployments": []}
    print(deployment_report.header(), flush=True)
    for count in sites:
        for stock, database in ((True, True), (False, True), (False, False)):
            result = measure(DeployedCase(count, stock, database, args.network or "lenet"), rounds)
            measured["deployments"] = deployment_report.with_ratios([*measured["deployments"], result])
            measured["machine"]["load_at_end"] = load()
            print(deployment_report.line(measured["deployments"][-1]), flush=True)
            if args.json is not None:
                report.write(args.json, measured)  # after every case, so that a stopped benchmark is not lost
    print(deployment_report.footer(IDLE_SECONDS))
    return 0


def _simulations(args: argparse.Namespace) -> int:
    """Measure simulations: each number of clients on each engine, shuffled, as often as --repeats says."""
    if args.deploy or args.quick or args.variant or args.classes or args.n or args.sites is not None or args.network:
        raise ConfigError(
            "--simulate measures none of --deploy, --quick, --variant, --classes, --n, --sites and --network: leave "
            "them out."
        )
    rounds = args.rounds if args.rounds is not None else ROUNDS
    workers = args.workers if args.workers is not None else WORKERS
    repeats = args.repeats if args.repeats is not None else 1
    if rounds < 3 or workers < 1 or repeats < 1:
        raise ConfigError("--simulate needs 3 rounds, 1 worker and 1 repeat at least.")
    _check_json(args.json)
    from pfedgp.benchmarking import report, simulation, simulation_report
    from pfedgp.benchmarking.machine import describe_machine, load
    from pfedgp.benchmarking.plain_pfl import PFL, pfl_installed
    from pfedgp.benchmarking.simulated_images import write_images
    from pfedgp_core.data.simulated import simulated_partition

    engines = args.engines or [kind for kind in simulation.KINDS if kind != PFL or pfl_installed()]
    if PFL in engines and not pfl_installed():
        raise ConfigError("--engines pfl needs pfl-research: pip install pfl, or leave it out.")
    if unknown := set(engines) - set(simulation.KINDS):
        raise ConfigError(f"--engines {min(unknown)!r} is not known; choose among: {', '.join(simulation.KINDS)}.")
    sizes = args.clients or list(simulation.CLIENTS)
    cases = [simulation.SimulatedCase(kind, n, rounds + 1, workers) for n in sizes for kind in engines]
    for case in cases:
        case.settings(Path(), args.seed)  # refuses numbers out of range
    measured: dict[str, Any] = {"machine": describe_machine(), "seed": args.seed, "simulations": []}
    with tempfile.TemporaryDirectory(prefix="pfedgp-bench-") as name:
        images = Path(name) / "images.npz"
        write_images(images, args.seed)
        os.environ["XDG_CACHE_HOME"] = name  # takes the decoded images, and goes with them
        for case in cases:
            simulated_partition(case.settings(images, args.seed))  # refuses a number of clients that cannot be
        print(simulation_report.header(), flush=True)
        for repeat in range(repeats):
            for case in simulation.shuffled(cases, args.seed + repeat):
                result = simulation.measure(case, images, args.seed)
                measured["simulations"].append(result)
                measured["growth"] = simulation_report.growth(measured["simulations"])
                measured["machine"]["load_at_end"] = load()
                print(simulation_report.line(result), flush=True)
                if args.json is not None:
                    report.write(args.json, measured)  # after every case, so that a stopped benchmark is not lost
    print(simulation_report.footer(measured["simulations"]))
    return 0


def _check_json(path: Path | None) -> None:
    if path is not None and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise ArtefactError(f"Cannot write {path}: give the name of a file in a folder that exists.")
