"""After training on the digits: clients that the federation never saw, by the commands of docs/after-training.md.

    python experiments/after_training.py --out /tmp/after-training [--seeds 0 1 2] [--unseen 2 6]

For every seed and number of unseen clients: ``pfedgp simulate``, then for each unseen client ``export-client``,
``onboard`` on its training part, ``predict`` on its test part, and two kinds of ``certify``; ``report`` at the end.
Predictions are at temperature 1, at the one with the smallest ECE on the run's validation data and at the model's. A
further run per seed trains all 20 clients, so that the unseen ones are compared with themselves as participants, too.
Runs that are in the folder already are used; sites are made anew.

Prints markdown tables. Everything is at the project's defaults. Onboarding is measured twice: as a command from the
shell (wall, CPU), and once more in this process, where torch is loaded already (CPU).
"""

import argparse
import csv
import io
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pfedgp.cli import main as pfedgp
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.summary import summarise

CLIENTS = 20


@dataclass
class Onboarded:
    """What one unseen client got."""

    name: str
    seed: int
    train: int
    tested: MetricSums
    at_lowest_ece: MetricSums
    at_temperature: MetricSums
    as_participant: MetricSums
    wall: float
    command_cpu: float
    cpu: float
    certificate: dict[str, Any]
    held_out: dict[str, Any]


def shell(*arguments: object) -> tuple[float, float]:
    """Run ``pfedgp`` as a command; wall and CPU seconds."""
    began, before = time.perf_counter(), os.times()
    command = [sys.executable, "-m", "pfedgp", *map(str, arguments)]
    done = subprocess.run(
        command, env={**os.environ, "OMP_NUM_THREADS": "1"}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(command[2:])}\n{done.stdout[-1000:]}{done.stderr[-1000:]}")
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return time.perf_counter() - began, cpu


def here(*arguments: object) -> str:
    """Run the command in this process, which has torch loaded; what it printed."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = pfedgp([str(argument) for argument in arguments])
    if code:
        raise SystemExit(f"pfedgp {' '.join(map(str, arguments))}\n{err.getvalue()}")
    return out.getvalue()


def simulate(folder: Path, seed: int, unseen: int) -> dict[str, MetricSums]:
    """Train; the test sums of each participant."""
    if not (folder / "summary.json").exists():
        options = ("--preset", "zero-mean", "--seed", seed, "--set", f"unseen-clients={unseen}", "--workers", 1)
        shell("simulate", *options, "--out", folder)
    calibration = json.loads((folder / "calibration.json").read_text())
    return {name: MetricSums.from_dict(sums) for name, sums in calibration["clients"].items()}


def onboard(run: Path, work: Path, name: str, seed: int, as_participant: MetricSums) -> Onboarded:
    """Export an unseen client, make its site, predict its test part, certify."""
    data, site = work / name, work / f"site-{name}"
    here("export-client", "--config", run / "config.toml", "--client", name, "--out", data)
    arguments = ("onboard", "--model", run / "best", "--data", data / "train.npz", "--name", name, "--out")
    wall, command_cpu = shell(*arguments, site)
    cpu = time.process_time()
    here(*arguments, work / f"again-{name}")
    cpu = time.process_time() - cpu
    tested = predict(site, data / "test.npz", work / f"{name}.csv", "--temperature", 1)
    lowest = json.loads((run / "calibration.json").read_text())["temperature"]
    at_lowest_ece = predict(site, data / "test.npz", work / f"{name}-at-lowest-ece.csv", "--temperature", lowest)
    at_temperature = predict(site, data / "test.npz", work / f"{name}-at-temperature.csv")
    certificate = json.loads(here("certify", "--site", site, "--method", "pac-bayes", "--unseen", "--json"))
    held_out = json.loads(
        here("certify", "--site", site, "--method", "held-out", "--data", data / "test.npz", "--json")
    )
    sums = (tested, at_lowest_ece, at_temperature, as_participant)
    return Onboarded(name, seed, certificate["n"], *sums, wall, command_cpu, cpu, certificate, held_out)


def predict(site: Path, data: Path, out: Path, *options: object) -> MetricSums:
    """Predict a client's test part and measure the table."""
    here("predict", "--site", site, "--data", data, "--out", out, *options)
    with out.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = [column for column in rows[0] if column.startswith("p:")]
    probabilities = np.array([[float(row[column]) for column in columns] for row in rows])
    test = np.load(data)
    truth = [columns.index(f"p:{test['class_names'][label]}") for label in test["labels"]]
    return metric_sums(probabilities, np.array(truth))


def accuracy_row(label: str, trained: Iterable[MetricSums], onboarded: list[Onboarded]) -> list[str]:
    """Pooled test samples of the participants, the unseen clients, and these as participants."""
    groups = [_pool(trained), _pool(o.tested for o in onboarded), _pool(o.as_participant for o in onboarded)]
    found = [summarise(sums) for sums in groups]
    accuracies = [100 * float(each["accuracy"] or 0) for each in found]
    return [
        label,
        *(f"{a:.1f} % ({s.correct}/{s.n})" for a, s in zip(accuracies, groups, strict=True)),
        f"{accuracies[1] - accuracies[0]:+.1f}",
        f"{accuracies[1] - accuracies[2]:+.1f}",
        f"{100 / groups[1].n:.1f}",
        " / ".join(f"{each['ece']:.3f}" for each in found),
        " / ".join(f"{each['nll']:.3f}" for each in found),
    ]


def temperature_row(label: str, run: Path, onboarded: list[Onboarded]) -> list[str]:
    """Calibration at temperature 1, the run's and the model's: participants, pooled, and unseen clients, pooled."""
    record = json.loads((run / "calibration.json").read_text())
    at = {each["temperature"]: MetricSums.from_dict(each["test"]) for each in record["temperatures"]}
    lowest, model = record["temperature"], record["model_temperature"]
    at[model] = MetricSums.from_dict(record["at_model_temperature"])
    cells = [label, f"{lowest:g}, {model:g}"]
    groups = (o.tested for o in onboarded), (o.at_lowest_ece for o in onboarded), (o.at_temperature for o in onboarded)
    for sums in ([at[t] for t in (1.0, lowest, model)], [_pool(group) for group in groups]):
        found = [summarise(each) for each in sums]
        cells += [" / ".join(f"{each[key]:.3f}" for each in found) for key in ("ece", "nll")]
    return cells


def certificate_row(o: Onboarded) -> list[str]:
    """One client's certificates, rounded upwards, beside its test errors."""
    found = [_up(o.certificate[key]["bound"]) for key in ("deployed", "wrong_probability", "gibbs", "gibbs_vote")]
    kept = o.held_out["deployed"]
    wrong = o.tested.n - o.tested.correct
    return [str(o.seed), o.name, str(o.train), *found, f"{wrong}/{o.tested.n}", _up(kept["bound"])]


def table(header: list[str], rows: list[list[str]]) -> str:
    """Markdown."""
    lines = [f"| {' | '.join(header)} |", "|" + "---|" * len(header)]
    return "\n".join(lines + [f"| {' | '.join(row)} |" for row in rows]) + "\n"


def _up(bound: float) -> str:
    return f"{math.ceil(min(bound, 1.0) * 1000) / 10:.1f}"


def _pool(sums: Iterable[MetricSums]) -> MetricSums:
    return sum(sums, MetricSums.zero())


def main() -> None:
    """Run all settings, one simulation at a time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for runs, data and sites")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--unseen", type=int, nargs="+", default=[2, 6], help="numbers of clients to leave out")
    args = parser.parse_args()
    torch.set_num_threads(1)
    accuracies, temperatures, certificates, every = [], [], [], []
    everybody = {seed: simulate(args.out / f"all-{seed}", seed, 0) for seed in args.seeds}
    for unseen in args.unseen:
        trained_all: list[MetricSums] = []
        onboarded_all: list[Onboarded] = []
        for seed in args.seeds:
            run = args.out / f"unseen-{unseen}-{seed}"
            trained = simulate(run, seed, unseen)
            work = run / "sites"
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()
            names = [f"client-{i:02d}" for i in range(CLIENTS - unseen, CLIENTS)]
            onboarded = [onboard(run, work, name, seed, everybody[seed][name]) for name in names]
            here("report", run)
            accuracies.append(accuracy_row(f"{unseen} unseen, seed {seed}", trained.values(), onboarded))
            temperatures.append(temperature_row(f"{unseen} unseen, seed {seed}", run, onboarded))
            print(accuracies[-1], temperatures[-1], file=sys.stderr, flush=True)
            trained_all += trained.values()
            onboarded_all += onboarded
        accuracies.append(accuracy_row(f"{unseen} unseen, all", trained_all, onboarded_all))
        every += onboarded_all
        if unseen == args.unseen[0]:
            certificates = [certificate_row(o) for o in onboarded_all]

    header = ["", "trained", "never seen", "same clients as participants", "never seen - trained, points"]
    header += ["never seen - as participants", "one sample, points", "ECE (same order)", "NLL (same order)"]
    print(table(header, accuracies))
    header = ["", "lowest ECE, model", "trained: ECE at 1 / lowest ECE / model", "trained: NLL", "never seen: ECE"]
    header += ["never seen: NLL"]
    print(table(header, temperatures))
    header = ["seed", "client", "samples", "deployed <= %", "wrong probability <= %", "Gibbs <= %", "Gibbs vote <= %"]
    print(table([*header, "test errors", "held-out: deployed <= %"], certificates))
    times = {"command, wall": "wall", "command, CPU": "command_cpu", "CPU after the import of torch": "cpu"}
    print(f"Seconds of onboarding, {len(every)} clients:\n")
    rows = []
    for label, key in times.items():
        seconds = [getattr(o, key) for o in every]
        rows.append([label, *(f"{value:.2f}" for value in (statistics.median(seconds), min(seconds), max(seconds)))])
    print(table(["", "median", "from", "to"], rows))


if __name__ == "__main__":
    main()
