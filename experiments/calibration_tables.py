"""The tables of `calibration_study.py`: its numbers, where a floor is ahead, and the targets with what misses them."""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from calibration_answers import RULES, SEEN, UNSEEN

from pfedgp_core.files.whole import write_whole
from pfedgp_core.words import counted

METRICS = ("accuracy", "ece", "nll", "brier")
HEADS = {
    "default": "pFedGP, prior mean zero",
    "gp-white": "the same tree on whitened features",
    "loo": "pFedGP, objective `loo`",
    "shared-head": "pFedGP, shared head",
    "shared-head-whitened": "the same, whitened features",
    "ip-data": "pFedGP, `ip-data`",
    "ip-compute": "pFedGP, `ip-compute`",
    "softmax-own": "softmax head, ridge by own CV",
    "softmax-pooled": "softmax head, ridge by pooled CV",
    "logistic": "logistic regression, 100 steps",
    "lda": "linear discriminants",
    "class-mean": "nearest class mean",
    "fedavg": "FedAvg, own classes",
    "fedavg-tuned": "FedAvg, head tuned, own classes",
}
FLOORS = ("softmax-own", "softmax-pooled", "lda", "class-mean")
OURS = ("default", "loo", "shared-head", "shared-head-whitened", "ip-data", "ip-compute")


class Key(NamedTuple):
    """What one mean is of."""

    dataset: str
    round: int
    population: str
    samples: int
    head: str
    rule: str


Means = Mapping[Key, Mapping[str, float]]


class Target(NamedTuple):
    """A number that was promised: at most `limit`, or at least, where a larger one is better."""

    dataset: str
    samples: int
    population: str
    rule: str
    metric: str
    limit: float

    def missed_by(self, value: float) -> float:
        """How far a value is on the wrong side; not above 0 where it is met."""
        return round(self.limit - value if self.metric == "accuracy" else value - self.limit, 4)


TARGETS = (
    Target("digits", 11, SEEN, "1", "ece", 0.05),
    Target("digits", 54, SEEN, "1", "ece", 0.03),
    Target("digits", 11, SEEN, "model's", "ece", 0.02),
    Target("digits", 54, SEEN, "model's", "ece", 0.02),
    Target("cifar10", 80, SEEN, "1", "ece", 0.016),
    Target("cifar10", 80, SEEN, "1", "accuracy", 0.875),
    Target("cifar10", 20, UNSEEN, "1", "ece", 0.03),
    Target("cifar10", 54, UNSEEN, "1", "ece", 0.02),
)


def means(cells: Iterable[Mapping[str, Any]]) -> dict[Key, dict[str, float]]:
    """Over the seeds, and how many there were (``seeds``) and test samples of a seed (``n``)."""
    found: dict[Key, list[Mapping[str, float]]] = defaultdict(list)
    for each in cells:
        cell = each["cell"]
        for row in each["rows"]:
            key = Key(cell["dataset"], row["round"], row["population"], cell["samples"], row["head"], row["rule"])
            found[key].append(row)
    return {
        key: {name: float(np.mean([row[name] for row in rows])) for name in (*METRICS, "temperature", "n")}
        | {"seeds": len(rows)}
        for key, rows in found.items()
    }


def table(known: Means, dataset: str, number: int, population: str) -> str:
    """A row a classifier and rule, a column a number of samples: accuracy in percent, ECE, NLL, Brier score."""
    there = {key for key in known if key[:3] == (dataset, number, population)}
    columns = sorted({key.samples for key in there})
    lines = [f"| | temperature | {' | '.join(f'{n} samples' for n in columns)} |", "|---" * (2 + len(columns)) + "|"]
    for head, words in HEADS.items():
        for rule in RULES:
            keys = [Key(dataset, number, population, n, head, rule) for n in columns]
            if any(key in known for key in keys):
                cells = [_cell(known[key]) if key in known else "" for key in keys]
                lines.append(f"| {words} | {rule} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: Mapping[str, float]) -> str:
    return f"{100 * row['accuracy']:.1f}, {row['ece']:.3f}, {row['nll']:.3f}, {row['brier']:.3f}"


def targets(known: Means) -> str:
    """Each promise with the value of every classifier of ours after every number of rounds; bold where it is met."""
    lines = ["| | target | round | " + " | ".join(HEADS[head] for head in OURS) + " |", "|---" * (3 + len(OURS)) + "|"]
    for target in TARGETS:
        sign = "at least" if target.metric == "accuracy" else "at most"
        words = f"{target.dataset}, {target.samples} samples, {target.population}, temperature {target.rule}"
        for number in _rounds(known, target.dataset):
            keys = [Key(target.dataset, number, target.population, target.samples, head, target.rule) for head in OURS]
            if not any(key in known for key in keys):
                continue
            values = [known[key][target.metric] if key in known else None for key in keys]
            cells = ["" if v is None else _judged(v, target.missed_by(v)) for v in values]
            wanted = f"{target.metric} {sign} {target.limit:g}"
            lines.append(f"| {words} | {wanted} | {number} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _judged(value: float, missed: float) -> str:
    return f"{value:.3f}, missed by {missed:.3f}" if missed > 0 else f"**{value:.3f}**"


def ahead(known: Means, rule: str) -> str:
    """In what the best of the floors is ahead of ours, by a rule for the temperature; floors also at temperature 1."""
    lines = [
        "| | round | samples | " + " | ".join(HEADS[head] for head in OURS) + " |",
        "|---" * (3 + len(OURS)) + "|",
    ]
    places = sorted({key[:4] for key in known if key.head == "default"}, key=lambda p: (p[0] != "digits", p))
    for dataset, number, population, samples in places:
        keys = [
            Key(dataset, number, population, samples, head, r) for head in FLOORS for r in dict.fromkeys(("1", rule))
        ]
        floors = [known[key] for key in keys if key in known]
        cells = []
        for head in OURS:
            ours = known.get(Key(dataset, number, population, samples, head, rule))
            cells.append("" if ours is None or not floors else _behind(ours, floors))
        lines.append(f"| {dataset}, {population} | {number} | {samples} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _behind(ours: Mapping[str, float], floors: Sequence[Mapping[str, float]]) -> str:
    """What the best floor has, in each metric in which it is ahead; a tie is none."""
    found = []
    for metric in METRICS:
        values = [floor[metric] for floor in floors]
        best = max(values) if metric == "accuracy" else min(values)
        lag = best - ours[metric] if metric == "accuracy" else ours[metric] - best
        if round(lag, 3) > 0:
            found.append(f"{metric} {100 * lag:.1f} points" if metric == "accuracy" else f"{metric} {lag:.3f}")
    return ", ".join(found) or "none"


def _rounds(known: Means, dataset: str) -> list[int]:
    return sorted({key.round for key in known if key.dataset == dataset})


def report(cells: Sequence[Mapping[str, Any]], missing: Sequence[str], budget: float) -> str:
    """All tables in Markdown."""
    known, parts = means(cells), []
    if budget < 1:
        parts.append(f"Budget {budget:g}: that share of rounds and clients. These numbers are not those of a study.")
    seconds = sum(each["cpu"] for each in cells)
    parts.append(
        f"{counted(len(cells), 'cell')}, {seconds / 60:.0f} CPU minutes. Accuracy in percent, ECE, NLL, Brier score."
    )
    if missing:
        parts.append(f"Not run: {', '.join(missing)}.")
    for dataset in sorted({key.dataset for key in known}, reverse=True):
        for number in _rounds(known, dataset):
            for population in (SEEN, UNSEEN):
                parts += [
                    f"#### {dataset}, {number} rounds, clients {population}",
                    table(known, dataset, number, population),
                ]
    parts += ["#### Targets", targets(known)]
    parts += ["#### By how much the best floor is ahead at temperature 1", ahead(known, "1")]
    parts += ["#### The same at the model's temperature, of the floors the better of both", ahead(known, "model's")]
    return "\n\n".join(parts)


def write_csv(path: Path, cells: Iterable[Mapping[str, Any]]) -> None:
    """A line a mean over the seeds."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow((*Key._fields, "seeds", "n", "temperature", *METRICS))
    for key, row in sorted(means(cells).items()):
        numbers = [f"{row[name]:.4f}" for name in METRICS]
        writer.writerow((*key, f"{row['seeds']:g}", f"{row['n']:g}", f"{row['temperature']:.3g}", *numbers))
    write_whole(path, text.getvalue())
