"""Calibration on the digits where clients have few samples: the GP classifier's links against a softmax head.

    python experiments/calibration_digits.py --out /tmp/calibration [--seeds 0 1 2] [--clients 100 20]

For every seed and number of clients ``pfedgp simulate`` trains a shared network at the project's defaults (2 classes a
client). On the frozen features of its best model every client then gets

* the GP classifier with ``gp.link = arith`` and ``paper-explog``, tree and draws of omega being the same for both; with
  50 Gibbs sweeps; and with 50 sweeps and an output scale picked like the head's steps, which is fairer to compare;
* a linear softmax head, trained from zero on cross entropy by full-batch gradient descent (momentum 0.9, step 1).
  Number of steps, weight decay and scaling of the features (each put on the unit sphere, as for the GP, or all divided
  by the mean norm of the client's) are picked for the federation as a whole on the pooled validation data: by NLL, or
  by accuracy and among equals the first of the grid.

All are measured on the pooled test data of all clients, and again at the temperature that has the smallest ECE on the
pooled validation data (`pfedgp_core.metrics.calibration`).
Prints markdown tables: mean and, in brackets, the range over the seeds.
"""

import argparse
import itertools
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import one_hot
from torch.nn.utils.rnn import pad_sequence

from pfedgp_core.data.simulated import simulated_client
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.metrics.calibration import lowest_ece, temperature_sums
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID
from pfedgp_core.model.features import compute_features
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.tree.classifier import PersonalClassifier
from server.run.model_file import load_model

STEPS = (3, 10, 30, 100, 300, 1000, 3000)
DECAYS = (0.0, 1e-3, 1e-2, 1e-1)
OUTPUT_SCALES = (2.0, 8.0, 32.0, 128.0, 512.0, 2048.0)
STEP_SIZE, MOMENTUM = 1.0, 0.9
CLASSES_PER_CLIENT = 2  # the project's default


@dataclass(frozen=True)
class Client:
    """Features and columns (positions among the client's classes) of each split."""

    name: str
    features: dict[str, Tensor]
    columns: dict[str, Tensor]


@dataclass(frozen=True)
class Result:
    """Pooled sums of a method at each temperature."""

    method: str
    validation: tuple[MetricSums, ...]
    test: tuple[MetricSums, ...]

    @property
    def temperature(self) -> float:
        """Of the grid, with the smallest ECE on validation data."""
        return lowest_ece(self.validation) or 1.0

    def numbers(self) -> dict[str, float]:
        """What the table shows."""
        one, chosen = (self.test[TEMPERATURE_GRID.index(t)] for t in (1.0, self.temperature))
        plain, scaled = summarise(one), summarise(chosen)
        confidence = float(np.sum(one.bin_confidence)) / one.n
        values = {
            "accuracy, %": 100 * one.correct / one.n,
            "confidence, %": 100 * confidence,
            "ECE": plain["ece"],
            "NLL": plain["nll"],
            "Brier": plain["brier"],
            "temperature": self.temperature,
            "ECE at it": scaled["ece"],
            "NLL at it": scaled["nll"],
        }
        return {key: float(value or 0.0) for key, value in values.items()}


def train(folder: Path, seed: int, clients: int) -> TrainedModel:
    """The best model of a run at the defaults; a run that is there is not repeated."""
    if not (folder / "summary.json").exists():
        command = [sys.executable, "-m", "pfedgp", "simulate", "--preset", "zero-mean"]
        command += ["--seed", str(seed), "--clients", str(clients)]
        command += ["--workers", "1", "--out", str(folder)]
        done = subprocess.run(
            command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise SystemExit(f"{' '.join(command[2:])}\n{done.stderr[-1000:]}")
    return TrainedModel.from_artefact(*load_model(folder / "best"))


def load(model: TrainedModel) -> list[Client]:
    """All clients of the model's federation, through its network."""
    clients = []
    for i in range(model.settings.clients):
        data = simulated_client(model.settings, i)
        splits = {"train": data.train, "validation": data.validation, "test": data.test}
        classes = data.train.labels.unique()
        filled = {name: split for name, split in splits.items() if len(split)}
        features = {name: compute_features(model.state.network, split.inputs) for name, split in filled.items()}
        columns = {name: torch.searchsorted(classes, split.labels) for name, split in filled.items()}
        clients.append(Client(data.name, features, columns))
    return clients


def gp(clients: Sequence[Client], model: TrainedModel, name: str, **changes: Any) -> Result:
    """The project's classifier, with changes of its settings (of the GP, snake_case)."""
    settings = model.settings.replace(gp=replace(model.settings.gp, **changes))
    probabilities = []
    for client in clients:
        stream = Stream(settings.seed, "calibration", client.name)
        kernel = model.state.kernel(settings)
        classifier = PersonalClassifier(settings, stream, kernel=kernel)
        classifier.fit(client.features["train"], client.columns["train"])
        probabilities.append({name: classifier.predict_proba(x) for name, x in client.features.items()})
    return measure(name, clients, probabilities)


def heads(clients: Sequence[Client]) -> list[tuple[str, Result]]:
    """A softmax head per client for every choice of steps, weight decay and features; a choice in words, its result."""
    results = []
    for sphere, decay in itertools.product((True, False), DECAYS):
        scaled = [_scaled(client.features, sphere) for client in clients]
        fitted = fit_heads([x["train"] for x in scaled], [client.columns["train"] for client in clients], decay)
        for steps, (weights, bias) in fitted.items():
            probabilities = [
                {name: torch.softmax(x @ w + b, 1).numpy() for name, x in own.items()}
                for own, w, b in zip(scaled, weights, bias, strict=True)
            ]
            words = f"{steps} steps, weight decay {decay:g}, {'unit sphere' if sphere else 'mean norm'}"
            results.append((words, measure("softmax head", clients, probabilities)))
    return results


def _scaled(features: dict[str, Tensor], sphere: bool) -> dict[str, Tensor]:
    norm = features["train"].norm(dim=1).mean()
    return {name: (unit_sphere(x) if sphere else x / norm).double() for name, x in features.items()}


def fit_heads(inputs: list[Tensor], columns: list[Tensor], decay: float) -> dict[int, tuple[Tensor, Tensor]]:
    """Weights [clients, d, k] and biases [clients, k] after each number of steps; biases do not decay.

    Every client descends on its own mean cross entropy; padding with rows of weight 0 lets all do so at once.
    """
    sizes = torch.tensor([len(each) for each in columns])
    x = pad_sequence(inputs, batch_first=True)
    targets = pad_sequence([one_hot(each, CLASSES_PER_CLIENT).double() for each in columns], batch_first=True)
    share = (torch.arange(x.shape[1]) < sizes[:, None]) / sizes[:, None].double()
    weights, bias = x.new_zeros(len(x), x.shape[2], CLASSES_PER_CLIENT), x.new_zeros(len(x), CLASSES_PER_CLIENT)
    speed, bias_speed = torch.zeros_like(weights), torch.zeros_like(bias)
    after = {}
    for step in range(1, STEPS[-1] + 1):
        error = (torch.softmax(x @ weights + bias[:, None], 2) - targets) * share[..., None]
        speed = MOMENTUM * speed + x.transpose(1, 2) @ error + decay * weights
        bias_speed = MOMENTUM * bias_speed + error.sum(1)
        weights, bias = weights - STEP_SIZE * speed, bias - STEP_SIZE * bias_speed
        if step in STEPS:
            after[step] = weights, bias
    return after


def measure(method: str, clients: Sequence[Client], probabilities: list[dict[str, np.ndarray]]) -> Result:
    """Pool all clients' samples."""
    pooled = []
    for name in ("validation", "test"):
        pairs = [(p[name], c.columns[name]) for p, c in zip(probabilities, clients, strict=True) if name in p]
        rows = np.concatenate([p for p, _ in pairs])
        pooled.append(temperature_sums(rows, torch.cat([columns for _, columns in pairs]).numpy()))
    return Result(method, *pooled)


def pick(found: list[tuple[str, Result]], metric: str) -> tuple[str, Result]:
    """The choice with the best validation NLL or accuracy, the first of equals."""
    at = TEMPERATURE_GRID.index(1.0)
    sign = 1 if metric == "nll" else -1
    return min(found, key=lambda each: sign * float(summarise(each[1].validation[at])[metric] or 0.0))


def table(per_seed: list[list[Result]]) -> str:
    """A row a method."""
    rows: list[list[str]] = []
    for results in zip(*per_seed, strict=True):
        numbers = [result.numbers() for result in results]
        if not rows:
            rows = [["", *numbers[0]], ["---"] * (1 + len(numbers[0]))]
        cells = [_cell(key, [each[key] for each in numbers]) for key in numbers[0]]
        rows.append([results[0].method, *cells])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n"


def _cell(key: str, values: list[float]) -> str:
    if key == "temperature":
        return ", ".join(f"{value:g}" for value in values)
    digits = 1 if key.endswith("%") else 3
    mean, low, high = (f"{value:.{digits}f}" for value in (np.mean(values), min(values), max(values)))
    return f"{mean} ({low} to {high})"


def main() -> None:
    """All settings, one simulation at a time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for the runs; runs that are there are used")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--clients", type=int, nargs="+", default=[100, 20], help="numbers of clients")
    args = parser.parse_args()
    torch.set_num_threads(1)
    for number in args.clients:
        per_seed, picked = [], []
        for seed in args.seeds:
            model = train(args.out / f"clients-{number}-{seed}", seed, number)
            clients = load(model)
            found = heads(clients)
            scales = [
                (f"output scale {s:g}", gp(clients, model, "", predict_sweeps=50, output_scale=s))
                for s in OUTPUT_SCALES
            ]
            choices = {
                "softmax head, picked by NLL": pick(found, "nll"),
                "softmax head, picked by accuracy": pick(found, "accuracy"),
                "GP, `arith`, 50 sweeps, output scale picked by NLL": pick(scales, "nll"),
            }
            per_seed.append(
                [
                    gp(clients, model, "GP, `arith` (default)"),
                    gp(clients, model, "GP, `paper-explog`", link="paper-explog"),
                    gp(clients, model, "GP, `arith`, 50 sweeps", predict_sweeps=50),
                    *(replace(result, method=method) for method, (_, result) in choices.items()),
                ]
            )
            picked += [f"| {seed} | {method} | {words} |" for method, (words, _) in choices.items()]
            print(number, seed, per_seed[-1][0].numbers(), file=sys.stderr, flush=True)
        sizes = [np.mean([len(c.columns.get(name, ())) for c in clients]) for name in ("train", "validation", "test")]
        print(
            f"{number} clients, on average {sizes[0]:.1f} training, {sizes[1]:.1f} validation and {sizes[2]:.1f} test"
        )
        print(f"samples each; {per_seed[0][0].test[0].n} test samples a seed.\n\n{table(per_seed)}")
        print("\n".join(["| seed | method | picked |", "| --- | --- | --- |", *picked]) + "\n")


if __name__ == "__main__":
    main()
