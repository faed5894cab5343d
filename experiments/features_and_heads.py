"""Where the gain comes from: features trained in several ways, and several heads on them, at the same clients.

    python experiments/features_and_heads.py --data-root FILE --out results.jsonl [--runs fedavg predictive] [--table]

Every run of `feature_training.RUNS` trains the shared features of a federation, by default LeNet on CIFAR-10 of 500
clients with two classes each, 5 clients a round. After the rounds of ``--at`` each head is fitted to the training data
of the first ``--evaluate`` clients, or of the last ``--unseen`` ones, which never train, on the features of the last
state, and of a running average of the states (``averaged``: weight 0.95 on the former one, like ``average-states``).
All heads know the client's own classes alone:

* ``gp``: a tree of Gaussian processes at the defaults. After the last round also ``gp-32``: at output scale 32 with 20
  sweeps; and ``gp-white``: the same on features whitened under the within-class covariance of all evaluated clients
  together, shrunk by 0.1;
* ``lda``: discriminants under that covariance; ``class-mean``: cosine with the class means, scale 6;
* ``logistic``: the floor ``softmax-head`` at its defaults;
* ``own``: where the run has a shared head, its logits of the client's classes.

A line of the file is one head after one round of one run: accuracy, ECE, NLL and Brier score over the pooled test
samples at temperature 1; ECE and NLL at the temperature with the smallest NLL on pooled validation data, and of the
trees at that with the largest pooled leave-one-out likelihood of training data; the CPU seconds of training and the
bytes up to there. Runs whose last round is in the file are not repeated; one that was killed begins anew. ``--table``
prints the file, or the part of it that ``--runs``, ``--at`` and ``--heads`` name.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from feature_training import RUNS, Trained, trained
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData
from pfedgp_core.data.simulated import simulated_client, simulated_summary
from pfedgp_core.floors.base import ScaledFeatures
from pfedgp_core.floors.class_mean import ClassMeans
from pfedgp_core.floors.discriminant import Discriminant, within_covariance
from pfedgp_core.floors.softmax_head import SoftmaxHead
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.methods.layered import LayeredMethod
from pfedgp_core.methods.pfedgp import PFedGP
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.own_classes import label_columns
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.metrics.temperature import temperature_scale
from pfedgp_core.model.features import compute_features
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier

TEMPERATURES = np.geomspace(0.05, 5, 60)
SHRINKAGE = 0.1
TREES = ("gp", "gp-32", "gp-white")


class Client(NamedTuple):
    """Features [N, d], logits [N, classes] of a shared head or None, and labels [N], of each split that has samples."""

    name: str
    splits: dict[str, tuple[Tensor, Tensor | None, Tensor]]


class Rows(NamedTuple):
    """Probabilities [N, k] of a split's samples, and their labels' columns [N]."""

    probabilities: np.ndarray
    columns: np.ndarray


def client_features(at: Trained, state: np.ndarray, data: ClientData) -> Client:
    """A client's data through the features of a state."""
    splits = {"train": data.train, "validation": data.validation, "test": data.test}
    found: dict[str, tuple[Tensor, Tensor | None, Tensor]] = {}
    for name, split in splits.items():
        if not len(split):
            continue
        if isinstance(at.method, LayeredMethod):
            at.method.personal(state, at.kept.get(data.name), data.train, Stream(0))  # loads the network
            hidden = at.method.network.hidden(split.inputs)
            found[name] = hidden, at.method.network.head(hidden).detach(), split.labels
        else:
            assert isinstance(at.method, PFedGP)
            shared = at.method.shared_state(state, None, data.train, Stream(0)).eval()
            found[name] = compute_features(shared.network, split.inputs), None, split.labels
    return Client(data.name, found)


def whitening(clients: Sequence[Client]) -> tuple[Tensor, Tensor]:
    """The within-class covariance of all clients' training data [d, d], and the root of its shrunk inverse."""
    total, freedom = torch.zeros(()), 0
    for client in clients:
        features, _, labels = client.splits["train"]
        own, degrees = within_covariance(unit_sphere(features), labels), len(labels) - len(labels.unique())
        if own is not None:
            total, freedom = total + degrees * own.double(), freedom + degrees
    covariance = total / freedom
    values, directions = torch.linalg.eigh(covariance)
    shrunk = (1 - SHRINKAGE) * values.clamp(min=0) + SHRINKAGE * values.mean()
    return covariance, (directions * shrunk.rsqrt()) @ directions.T


def predictions(
    client: Client, covariance: Tensor, root: Tensor, seed: int, trees: Sequence[str]
) -> Iterator[tuple[str, str, np.ndarray]]:
    """Head, split (``loo`` is the training data without themselves) and probabilities over the client's own classes."""
    features, _, labels = client.splits["train"]
    sphere, gp = unit_sphere(features), Settings().gp
    large = replace(gp, output_scale=32.0, predict_sweeps=20)
    for name in trees:
        own, scatter = gp if name == "gp" else large, root.float() if name == "gp-white" else None
        tree = PersonalClassifier(Settings(gp=own), Stream(seed, "head", client.name))
        tree.fit(features if scatter is None else sphere @ scatter, labels)
        yield name, "loo", np.exp(tree.leave_one_out_log_proba())
        for split in client.splits.keys() - {"train"}:
            rows = client.splits[split][0]
            yield name, split, tree.predict_proba(rows if scatter is None else unit_sphere(rows) @ scatter)
    simple = {
        "class-mean": ClassMeans(sphere, labels, 6.0),
        "lda": Discriminant(sphere, labels, covariance, SHRINKAGE),
        "logistic": ScaledFeatures(SoftmaxHead(4.0 * sphere, labels, 0.05, 100), 4.0),
    }
    for split in client.splits.keys() - {"train"}:
        rows, logits, _ = client.splits[split]
        for name, head in simple.items():
            yield name, split, torch.softmax(head.log_probabilities(unit_sphere(rows)).double(), 1).numpy()
        if logits is not None:
            yield "own", split, torch.softmax(logits[:, labels.unique()].double(), 1).numpy()


def measured(
    at: Trained, state: np.ndarray, base: Settings, measured_at: range, trees: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Every head's numbers, pooled over clients."""
    clients = [client_features(at, state, simulated_client(base, i)) for i in measured_at]
    covariance, root = whitening(clients)
    found: dict[tuple[str, str], list[Rows]] = defaultdict(list)
    for client in clients:
        classes = client.splits["train"][2].unique().numpy()
        for head, split, probabilities in predictions(client, covariance, root, base.seed, trees):
            labels = client.splits["train" if split == "loo" else split][2]
            found[head, split].append(Rows(probabilities, label_columns(classes, labels.numpy())))
    pooled = {key: _pooled(rows) for key, rows in found.items()}
    heads = sorted({head for head, _ in pooled})
    return {head: _numbers({split: rows for (name, split), rows in pooled.items() if name == head}) for head in heads}


def _pooled(rows: Sequence[Rows]) -> Rows:
    width = max(each.probabilities.shape[1] for each in rows)
    padded = [np.pad(p, ((0, 0), (0, width - p.shape[1]))) for p, _ in rows]
    return Rows(np.concatenate(padded), np.concatenate([each.columns for each in rows]))


def _numbers(splits: dict[str, Rows]) -> dict[str, float]:
    plain = summarise(metric_sums(*splits["test"]))
    numbers = {key: float(plain[key] or 0.0) for key in ("accuracy", "ece", "nll", "brier")}
    for name, split in (("tuned", "validation"), ("loo", "loo")):
        if split not in splits:
            continue
        prior = np.log(TEMPERATURES) ** 2 / 2  # keeps few samples that are all right from the sharpest temperature
        losses = [_at(splits[split], t).nll_sum + p for t, p in zip(TEMPERATURES, prior, strict=True)]
        temperature = float(TEMPERATURES[int(np.argmin(losses))])
        chosen = summarise(_at(splits["test"], temperature))
        numbers |= {f"ece_{name}": float(chosen["ece"] or 0), f"nll_{name}": float(chosen["nll"] or 0)}
        numbers[f"temperature_{name}"] = temperature
    return numbers


def _at(rows: Rows, temperature: float) -> MetricSums:
    return metric_sums(temperature_scale(rows.probabilities, temperature), rows.columns)


def read(path: Path) -> list[dict[str, Any]]:
    """The lines of a file; a last one that was cut off is left out."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def table(lines: Sequence[dict[str, Any]]) -> str:
    """A row a run, state, head and round; of a line that comes twice the last one counts."""
    known = {(s["run"], s["seed"], s["state"], s["head"], s["round"]): s for s in lines}
    columns = ("features", "seed", "state", "head", "round", "accuracy, %", "ECE", "NLL", "ECE, NLL tuned")
    rows = [f"| {' | '.join((*columns, 'ECE, NLL leave-one-out', 'CPU s', 'MB'))} |", "|" + "---|" * 12]
    for (run, seed, state, head, number), s in known.items():
        at = [f"{s[f'ece_{how}']:.3f}, {s[f'nll_{how}']:.3f}" if f"ece_{how}" in s else "" for how in ("tuned", "loo")]
        rows.append(
            f"| {run} | {seed} | {state} | {head} | {number} | {100 * s['accuracy']:.1f} | {s['ece']:.3f} | "
            f"{s['nll']:.3f} | {at[0]} | {at[1]} | {s['cpu']:.0f} | {s['bytes'] / 1e6:.0f} |"
        )
    return "\n".join(rows)


def main() -> None:
    """All runs that are asked for, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="JSON lines; those that are there are kept")
    parser.add_argument("--table", action="store_true", help="print the table and train nothing")
    parser.add_argument("--runs", nargs="+", help=f"all, or some of: {'; '.join(RUNS)}")
    parser.add_argument("--heads", nargs="+", help="that the table shows")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--dataset", default="cifar10")
    parser.add_argument("--data-root", default="", help="of the data set, as for pfedgp simulate")
    parser.add_argument("--clients", type=int, default=500)
    parser.add_argument("--at", type=int, nargs="+", help="rounds after which heads are fitted, by default 50 100 200")
    parser.add_argument(
        "--evaluate", type=int, default=250, help="clients that the heads are fitted at, the first ones"
    )
    parser.add_argument(
        "--unseen", type=int, default=0, help="clients that never train, and that the heads are fitted at"
    )
    parser.add_argument("--train-samples", type=int, default=0, help="of all clients together, 0 = all there are")
    args = parser.parse_args()
    torch.set_num_threads(1)
    if args.table:
        shown = {"run": args.runs, "round": args.at, "head": args.heads}
        print(table([s for s in read(args.out) if all(s[k] in wanted for k, wanted in shown.items() if wanted)]))
        return
    runs = args.runs or list(RUNS)
    if unknown := [name for name in runs if name not in RUNS]:
        parser.error(f"there is no run {unknown[0]!r}; there are: {'; '.join(RUNS)}")
    base = Settings(dataset=args.dataset, data_root=args.data_root, clients=args.clients, seed=args.seed)
    base = base.replace(train_samples=args.train_samples)
    places = range(args.clients - args.unseen, args.clients) if args.unseen else range(args.evaluate)
    classes, rounds = len(simulated_summary(base, 0).class_names), sorted(args.at or [50, 100, 200])
    for name in runs:
        if any((s["run"], s["seed"], s["round"]) == (name, args.seed, rounds[-1]) for s in read(args.out)):
            continue
        for at in trained(RUNS[name], base, classes, rounds, args.unseen):
            place = {"run": name, "seed": args.seed, "round": at.round, "cpu": at.cpu, "bytes": at.bytes}
            all_of_them = at.round == rounds[-1]
            trees = dict.fromkeys(at.states, TREES if all_of_them else TREES[:1])
            found = {key: measured(at, state, base, places, trees[key]) for key, state in at.states.items()}
            lines = [
                place | {"state": state, "head": head} | numbers
                for state, heads in found.items()
                for head, numbers in heads.items()
            ]
            with args.out.open("a") as file:
                file.writelines(json.dumps(line) + "\n" for line in lines)


if __name__ == "__main__":
    main()
