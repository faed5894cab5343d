"""Which probabilities can be relied on: samples a client, data set, seen or never seen, classifier, temperature rule.

    python experiments/calibration_study.py --out FOLDER [--data-root CIFAR-10] [--seeds 0 1 2] [--table]

A cell is one way to train on one federation with one seed. Its shared features are trained as the product trains them,
without Flower's engine; a fifth of the clients never train. After 20, 60 and 200 rounds on the digits (60 is the
default), after 100 on CIFAR-10, classifiers are fitted at clients of both kinds, each on its own training data:

* ``default``: the GP tree of the defaults. On its features also the same tree on whitened features, linear
  discriminants under the covariance that the seen clients give together, class means (cosine, scale 6), logistic
  regression of 100 steps, and softmax heads whose ridge is chosen by cross-validation of each client's own training
  data, or of those of all seen clients;
* ``shared-head``: ``--preset shared-head``, and ``shared-head-whitened`` the same with method ``whitened``; ``loo``:
  the objective; ``ip-data`` with loss scale 2, and ``ip-compute``: the variants;
* ``fedavg``: FedAvg's network over the client's own classes, as it is and with its head tuned there (plain SGD).

Temperatures: 1; the model's, as at the end of a run; that of the pooled leave-one-out likelihood of the clients at
hand; and each client's own by its leave-one-out likelihood, as ``pfedgp predict --temperature own``.

All clients have two classes. The digits are federations of 100 clients (5 and 11 samples each), 50 (20), 20 (54) and
10 (80); CIFAR-10 has 500, of which 125 of each kind are measured, and three steps a visit for the GP's objectives. It
needs ``--data-root``, without which its cells are named as missing.

A cell that is done is a file of ``FOLDER/cells``, written whole, and is not repeated: a study that was ended goes on.
``--budget B`` takes that share of the rounds and of the clients that are measured, ``--quick`` 0.1 of the digits with
11 samples and one seed; tables say so, and a folder holds one budget. ``--table`` prints what is there, ``--csv FILE``
writes it, and cells that were asked for and are not there are named.
"""

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from calibration_answers import SEEN, UNSEEN, Place, answers, measured
from calibration_tables import report, write_csv
from feature_training import FEDAVG, LOO, Run, trained

from pfedgp_core.config import Settings
from pfedgp_core.data.simulated import simulated_client, simulated_summary
from pfedgp_core.errors import ConfigError, PFedGPError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.lock import FileLock
from pfedgp_core.files.whole import write_whole
from pfedgp_core.presets import preset_settings

FORM = 1  # of the cells; results of another one are not read


class Federation(NamedTuple):
    """Clients, how many of them never train, and the training samples of all together (0: all there are)."""

    clients: int
    unseen: int
    samples: int


FEDERATIONS = {
    "digits": {
        5: Federation(100, 20, 500),
        11: Federation(100, 20, 0),
        20: Federation(50, 10, 1000),
        54: Federation(20, 4, 0),
        80: Federation(10, 2, 800),
    },
    "cifar10": {n: Federation(500, 100, 500 * n if n < 80 else 0) for n in (5, 11, 20, 54, 80)},
}
ROUNDS = {"digits": (20, 60, 200), "cifar10": (100,)}
MOST = {"digits": 100, "cifar10": 125}  # clients of each population
SAMPLES = (11, 54, 5, 20, 80)  # the order in which they are run


def _preset(name: str) -> dict[str, Any]:
    found = Settings.from_run_config(preset_settings(name, {}))
    return {"gp": found.gp, "objective": found.objective}


WAYS = {
    "default": Run(),
    "shared-head": Run(_preset("shared-head")),
    "shared-head-whitened": Run(_preset("shared-head") | {"method": "whitened"}),
    "fedavg": Run(FEDAVG),
    "loo": Run({"objective": LOO["objective"]}),
    "ip-data": Run({"variant": "ip-data", "loss_scale": 2.0}),
    "ip-compute": Run({"variant": "ip-compute"}),
}
STEPS = {("cifar10", "default"): 3, ("cifar10", "loo"): 3}  # a visit; otherwise one


class Cell(NamedTuple):
    """What one training is of."""

    dataset: str
    samples: int
    way: str
    seed: int

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{self.dataset}-{self.samples}-{self.way}-{self.seed}"


class Folder:
    """The cells of a study, which one process at a time may add to.

    Raises
    ------
    ConfigError
        The folder holds a study of another budget or form.
    """

    def __init__(self, path: Path, budget: float) -> None:
        self.cells, self.budget = path / "cells", budget
        self.cells.mkdir(parents=True, exist_ok=True)
        own, file = {"budget": budget, "form": FORM}, path / "study.json"
        if not file.exists():
            write_whole(file, json.dumps(own))
        if (there := read_object(file)) != own:
            raise ConfigError(f"{path} holds a study of {there}, and this is one of {own}: give another --out.")

    def lock(self) -> FileLock:
        """Keep other processes out."""
        return FileLock(
            self.cells.parent / "lock",
            lambda who: ConfigError(f"{who} runs a study in {self.cells.parent}: wait for it, or give another --out."),
        )

    def read(self, cell: Cell) -> dict[str, Any] | None:
        """What a cell gave; None where it has not been run."""
        file = self.cells / f"{cell.name}.json"
        return read_object(file) if file.exists() else None

    def add(self, cell: Cell, found: dict[str, Any]) -> None:
        """Keep what a cell gave."""
        write_whole(self.cells / f"{cell.name}.json", json.dumps(found))


def scaled(number: int, budget: float) -> int:
    """A part of a number, at least 2."""
    return max(2, round(number * budget))


def run(cell: Cell, budget: float, data_root: str) -> dict[str, Any]:
    """Train, and measure after each of the rounds."""
    began = time.process_time()
    size, way = FEDERATIONS[cell.dataset][cell.samples], WAYS[cell.way]
    base = Settings(dataset=cell.dataset, data_root=data_root, seed=cell.seed, clients=size.clients)
    base = base.replace(unseen_clients=size.unseen, train_samples=size.samples)
    base = base.replace(local_epochs=STEPS.get((cell.dataset, cell.way), 1))
    summary, rows = simulated_summary(base, 0), []
    rounds, most = [scaled(r, budget) for r in ROUNDS[cell.dataset]], scaled(MOST[cell.dataset], budget)
    for at in trained(way, base, len(summary.class_names), rounds, size.unseen):
        where = [*range(base.trainers)[:most], *range(base.trainers, size.clients)[:most]]
        places = [Place(SEEN if i < base.trainers else UNSEEN, simulated_client(base, i), i in at.drawn) for i in where]
        about = {"round": at.round, "train_cpu": round(at.cpu, 1)}
        for head, each in answers(at, at.states["last"], cell.way, places, cell.seed).items():
            rows += [about | {"head": head} | numbers for numbers in measured(each)]
    return {"cell": cell._asdict(), "cpu": round(time.process_time() - began, 1), "rows": rows}


def chosen(args: argparse.Namespace) -> Iterator[Cell]:
    """The cells that are asked for, in their order."""
    for dataset in args.datasets:
        for way in args.ways:
            for samples in sorted(args.samples, key=SAMPLES.index):
                yield from (Cell(dataset, samples, way, seed) for seed in args.seeds)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study; cells that are there are kept")
    parser.add_argument("--data-root", default="", help="CIFAR-10, as for pfedgp simulate")
    parser.add_argument("--datasets", nargs="+", choices=FEDERATIONS, default=list(FEDERATIONS))
    parser.add_argument("--samples", nargs="+", type=int, choices=SAMPLES, default=list(SAMPLES))
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--budget", type=float, default=1.0, help="share of rounds and of clients, up to 1")
    parser.add_argument("--quick", action="store_true", help="budget 0.1, the digits with 11 samples, seed 0")
    parser.add_argument("--table", action="store_true", help="run nothing")
    parser.add_argument("--csv", type=Path, help="file of the means over seeds")
    args = parser.parse_args(arguments)
    if args.quick:
        args.budget, args.datasets, args.samples, args.seeds = 0.1, ["digits"], [11], [0]
    if not 0 < args.budget <= 1:
        parser.error(f"--budget {args.budget:g} is no share: give a number above 0, up to 1.")
    return args


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cells that are not there, and print the tables."""
    args = parsed(arguments)
    torch.set_num_threads(1)
    folder, cells = Folder(args.out, args.budget), list(chosen(args))
    if not args.table:
        with folder.lock():
            for cell in cells:
                if folder.read(cell) or (cell.dataset == "cifar10" and not args.data_root):
                    continue
                folder.add(cell, run(cell, args.budget, args.data_root))
                print(cell.name, time.strftime("%H:%M:%S"), file=sys.stderr, flush=True)
    found = {cell: each for cell in cells if (each := folder.read(cell))}
    if args.csv:
        write_csv(args.csv, list(found.values()))
    print(report(list(found.values()), [cell.name for cell in cells if cell not in found], args.budget))


if __name__ == "__main__":
    try:
        main()
    except PFedGPError as error:
        raise SystemExit(str(error)) from None
