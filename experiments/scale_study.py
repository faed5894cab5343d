"""Which output scale a federation's own sums would choose, and what it does to the probabilities at temperature 1.

    python experiments/scale_study.py --out FOLDER [--samples 11 54] [--seeds 0 1 2] [--table]

Digits federations of `calibration_study.py`, trained there as here; after 60 rounds the tree is fitted at every client
for every scale of the grid, on features as they are and on whitened ones. Rules for the scale, by sums of the clients
that are seen: 32; pooled leave-one-out of all; that of those that were never drawn with validation data of the others;
and validation data. Never-seen clients have no part in the choice. A cell that is done is kept, with every answer.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from calibration_answers import SEEN, UNSEEN, Answers, Place
from calibration_study import FEDERATIONS, Cell, Folder, scaled
from feature_training import Run, trained
from features_and_heads import client_features, whitening

from pfedgp_core.bounded_counts import bounded_counts
from pfedgp_core.config import Settings
from pfedgp_core.data.simulated import simulated_client, simulated_summary
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.likelihood import LIKELIHOOD_GRID
from pfedgp_core.metrics.model_temperature import choose_temperature
from pfedgp_core.metrics.own_classes import label_columns
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier

SCALES = {8.0: 20, 32.0: 20, 128.0: 30, 512.0: 60, 2048.0: 120}  # and sweeps
HEADS = ("default", "whitened")
ROUNDS = 60
ONE = LIKELIHOOD_GRID.index(1.0)
NUMBERS = ("accuracy", "ece", "nll", "brier")


def run(cell: Cell, budget: float) -> dict[str, Any]:
    """Train, fit, and return what every tree answers at every client."""
    began, size = time.process_time(), FEDERATIONS[cell.dataset][cell.samples]
    base = Settings(dataset=cell.dataset, seed=cell.seed, clients=size.clients)
    base = base.replace(unseen_clients=size.unseen, train_samples=size.samples)
    classes, rounds = len(simulated_summary(base, 0).class_names), scaled(ROUNDS, budget)
    (at,) = trained(Run(), base, classes, [rounds], size.unseen)
    data = [simulated_client(base, i) for i in range(size.clients)]
    clients = [client_features(at, at.states["last"], each) for each in data]
    root = whitening(clients[: base.trainers])[1].float()
    rows = []
    for i, client in enumerate(clients):
        about = {"population": SEEN if i < base.trainers else UNSEEN, "trained": i in at.drawn}
        for head in HEADS:
            for scale, sweeps in SCALES.items():
                gp = replace(base.gp, output_scale=scale, predict_sweeps=sweeps)
                tree = PersonalClassifier(base.replace(gp=gp), Stream(cell.seed, "scale", client.name))
                splits = dict(answered(tree, client.splits, root if head == "whitened" else None))
                rows.append(about | {"head": head, "scale": scale, "splits": splits})
    return {"cell": cell._asdict(), "cpu": round(time.process_time() - began, 1), "rows": rows}


def answered(
    tree: PersonalClassifier, splits: dict[str, tuple[Any, Any, Any]], root: Any
) -> Iterator[tuple[str, tuple[list[list[float]], list[int]]]]:
    """Log-probabilities and labels' columns of each split; ``loo`` is the training data, each without itself."""
    rows = {name: split[0] if root is None else unit_sphere(split[0]) @ root for name, split in splits.items()}
    tree.fit(rows["train"], splits["train"][2])
    for name, split in splits.items():
        logs = tree.leave_one_out_log_proba() if name == "train" else tree.predict_log_proba(rows[name])
        columns = label_columns(tree.classes_, split[2].numpy())
        yield "loo" if name == "train" else name, (np.round(logs, 7).tolist(), columns.tolist())


def read(cell: dict[str, Any], head: str) -> dict[float, list[Answers]]:
    """The answers of a cell's trees, by scale."""
    found: dict[float, list[Answers]] = {}
    for row in cell["rows"]:
        if row["head"] == head:
            place = Place(row["population"], None, row["trained"])  # type: ignore[arg-type]
            splits = {k: (np.array(logs), np.array(columns)) for k, (logs, columns) in row["splits"].items()}
            found.setdefault(row["scale"], []).append(Answers(place, splits))
    return found


def by_rule(trained_say: str, others_say: str) -> Callable[[dict[float, list[Answers]]], float]:
    """The scale whose splits of these names are most likely, bounded by client."""

    def chosen(found: dict[float, list[Answers]]) -> float:
        totals = {}
        for scale, each in found.items():
            sums = [a.likelihood(trained_say if a.place.trained else others_say) for a in each]
            sums = [s for s, a in zip(sums, each, strict=True) if s.n and a.place.population == SEEN]
            counts = bounded_counts([s.n for s in sums], multiple=1)
            totals[scale] = sum(c * s.values[ONE] / s.n for c, s in zip(counts, sums, strict=True))
        return max(totals, key=lambda scale: totals[scale])

    return chosen


RULES: dict[str, Callable[[dict[float, list[Answers]]], float]] = {
    **{f"{scale:g}": lambda _, scale=scale: scale for scale in SCALES},
    "pooled leave-one-out": by_rule("loo", "loo"),
    "leave-one-out of the untrained, validation of the others": by_rule("validation", "loo"),
    "validation": by_rule("validation", "validation"),
}


def numbers(there: Sequence[Answers], temperature: float) -> dict[str, float]:
    """Of the test data."""
    found = summarise(sum((each.sums(temperature) for each in there), MetricSums()))
    return {key: float(found[key] or 0.0) for key in NUMBERS}


def table(cells: Sequence[dict[str, Any]]) -> str:
    """Means over seeds, a row for samples, tree, population and rule."""
    lines = ["| samples | tree | clients | scale by | scales | T = 1: accuracy, ECE, NLL, Brier | model's | pooled |"]
    lines.append("|---" * 8 + "|")
    for samples in sorted({cell["cell"]["samples"] for cell in cells}):
        mine = [cell for cell in cells if cell["cell"]["samples"] == samples]
        for head in HEADS:
            of_seeds = [read(cell, head) for cell in mine]
            for population in (SEEN, UNSEEN):
                for name, rule in RULES.items():
                    scales = [rule(found) for found in of_seeds]
                    shown = [shown_at(found[s], population) for found, s in zip(of_seeds, scales, strict=True)]
                    means = [
                        ", ".join(
                            f"{100 * v:.1f}" if key == "accuracy" else f"{v:.3f}"
                            for key, v in ((k, float(np.mean([each[i][k] for each in shown]))) for k in NUMBERS)
                        )
                        for i in range(3)
                    ]
                    text = ", ".join(f"{s:g}" for s in scales)
                    lines.append(f"| {samples} | {head} | {population} | {name} | {text} | " + " | ".join(means) + " |")
    return "\n".join(lines)


def shown_at(found: Sequence[Answers], population: str) -> list[dict[str, float]]:
    """At temperature 1, at the model's, and at that of pooled leave-one-out."""
    there = [each for each in found if each.place.population == population]
    seen = [each for each in found if each.place.population == SEEN]
    of_model = choose_temperature(
        [a.likelihood("validation") if a.place.trained else a.likelihood("validation", "loo") for a in seen]
    )
    pooled = choose_temperature([a.likelihood("loo") for a in seen])
    values = [1.0, *(1.0 if t is None else t.value for t in (of_model, pooled))]
    return [numbers(there, value) for value in values]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the cells that are not there, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the study; cells that are there are kept")
    parser.add_argument("--samples", nargs="+", type=int, choices=FEDERATIONS["digits"], default=[11, 54])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--budget", type=float, default=1.0, help="share of the rounds, up to 1")
    parser.add_argument("--table", action="store_true", help="run nothing")
    args = parser.parse_args(arguments)
    torch.set_num_threads(1)
    folder = Folder(args.out, args.budget)
    cells = [Cell("digits", samples, "scale", seed) for samples in args.samples for seed in args.seeds]
    if not args.table:
        with folder.lock():
            for cell in cells:
                if folder.read(cell) is None:
                    folder.add(cell, run(cell, args.budget))
                    print(cell.name, time.strftime("%H:%M:%S"), file=sys.stderr, flush=True)
    print(table([each for cell in cells if (each := folder.read(cell))]))


if __name__ == "__main__":
    main()
