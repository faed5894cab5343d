"""Certificates of digits sites that the federation never saw, and what is answered at a stated risk.

For every seed: ``pfedgp simulate`` with two of 20 clients left out, ``onboard`` for each of these, and its progressive
certificates at delta = .01: without unlabelled inputs, with 40 and with 1,000. These are drawn with replacement from
all digits of the site's classes that it was not fitted on, which stand for its population; a file of 1,000 different
ones does not exist. Beside them the errors on all of these digits, and the bounds of ``--method pac-bayes`` and
``data-prior``, the latter with 1,000 unlabelled inputs, and with a quarter and a half of the samples as prior. Then the
threshold of ``predict --risk 0.02`` from the run's bins at the nearest temperature that has some, and the share of the
federation's test samples that it answers.

    python -m experiments.certificate_digits --out FOLDER [--seeds 0 1] [--preset NAME]

The model is that of the defaults, or of a preset. Runs that are in the folder already are used.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch

from pfedgp.cli import main as pfedgp
from pfedgp.predicting.federation_bins import FederationBins
from pfedgp_core.certificate.classifier import certify_classifier
from pfedgp_core.certificate.data_prior import bound_data_prior, compare_with_data_prior, disagreement
from pfedgp_core.certificate.progressive import ABOUT_A_HEAD, Answers, Plan, bound_progress, progress
from pfedgp_core.certificate.selective import choose_threshold, from_bins
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.errors import DataError
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.site.saved import SavedSite

CLIENTS, UNSEEN, DELTA, FLIPS = 20, 2, 0.01, (40, 1000)
SHARES = (0.25, 0.5)  # of the samples, as prior
RISK, RISK_DELTA = 0.02, 0.05


def run(folder: Path, seed: int, preset: str = "") -> Path:
    """The federation without its last two clients."""
    if not (folder / "summary.json").exists():
        command = ["simulate", "--seed", str(seed), "--set", f"unseen-clients={UNSEEN}", "--workers", "1"]
        command += ["--preset", preset] if preset else []
        command = [sys.executable, "-m", "pfedgp", *command, "--out", str(folder)]
        subprocess.run(command, check=True, capture_output=True)
    return folder


def site_of(folder: Path, name: str) -> SavedSite:
    """A never-seen client's classifier, from its training part."""
    data, site = folder / "sites" / name, folder / "sites" / f"site-{name}"
    if not site.exists():
        export = ["export-client", "--config", folder / "config.toml", "--client", name, "--out", data]
        onboard = ["onboard", "--model", folder / "best", "--data", data / "train.npz", "--name", name, "--out", site]
        for command in (export, onboard):
            if pfedgp([str(part) for part in command]):
                raise SystemExit(f"{command[0]} failed")
    return SavedSite.load(site)


def population(site: SavedSite) -> tuple[np.ndarray, np.ndarray]:
    """Features and labels of all digits of the site's classes that it was not fitted on."""
    dataset = load_dataset("digits")
    splits = [getattr(dataset, part) for part in ("train", "validation", "test")]
    inputs = np.concatenate([split.inputs for split in splits])
    labels = np.concatenate([split.labels for split in splits])
    kept = np.isin(labels, site.classifier.classes_)
    features, labels = site.model.features(inputs[kept]).numpy(), labels[kept]
    # The last bits of features depend on the batch, so equal ones are those that are very near.
    distance = ((features[:, None] - site.samples.features[None]) ** 2).sum(-1).min(1)
    new = distance > 1e-8 * (features**2).sum(1)
    return features[new], labels[new]


def certificates(site: SavedSite, seed: int) -> dict[str, Any]:
    """Bounds of one site."""
    features, labels = population(site)
    samples = site.samples

    def answers(fitted: SavedSite) -> Answers:
        return lambda rows: fitted.classifier.predict(torch.from_numpy(rows))

    fitted: dict[int, Answers] = {}

    def fit(rows: np.ndarray) -> Answers:
        if len(rows) not in fitted:  # the first of one order, so a number says which
            fitted[len(rows)] = answers(SavedSite.fit(site.name, site.model, samples.take(rows)))
        return fitted[len(rows)]

    plan = Plan() if site.classifier.logits_of is None else ABOUT_A_HEAD
    order = Stream(site.model.settings.seed, "certificate", "order", site.model.sha256).numpy.permutation(len(samples))
    found = {"site": site.name, "seed": seed, "n": len(samples)}
    rng = Stream(seed, "unlabelled", site.name).numpy
    for m in FLIPS:
        new = features[rng.integers(0, len(features), m)]
        for name, other in ((f", {m} unlabelled", plan), (f", {m} unlabelled, from a half on", Plan())):
            made = progress(fit, samples.features, samples.labels, order, answers(site), new, other)
            bounds = bound_progress(made, len(samples), DELTA)
            found |= {f"deployed{name}": bounds.deployed, f"disagreement{name}": made.disagreement}
            found |= {f"errors{name}": made.errors}
    made = progress(fit, samples.features, samples.labels, order, answers(site), plan=plan)
    alone = bound_progress(made, len(samples), DELTA)
    found |= {"on the way": alone.on_the_way, "errors": made.errors, "steps": made.steps}
    found["true error"] = float((answers(site)(features) != labels).mean())
    federation = len(site.model.class_names)
    pac = certify_classifier(site.classifier, samples.labels, federation, DELTA, features=samples.features).tree
    found |= {"pac-bayes": pac.soft_vote, "pac-bayes, Gibbs": pac.sign.bound, "pac-bayes, KL": pac.kl}
    found |= {"pac-bayes, risk": pac.sign.empirical, "pac-bayes, soft risk": pac.soft.empirical}
    prior = Stream(site.model.settings.seed, "certificate", "prior", site.model.sha256).numpy.permutation(len(samples))
    apart = disagreement(site.classifier, new)
    for share in SHARES:
        part = np.isin(np.arange(len(samples)), prior[: round(share * len(samples))])
        from_part = compare_with_data_prior(site.classifier, samples.features, samples.labels, part, federation)
        bound = bound_data_prior(from_part, DELTA, apart)
        found |= {f"data-prior {share:g}": bound.deployed, f"data-prior {share:g}, vote": bound.vote}
        alone = bound_data_prior(from_part, DELTA)
        found |= {f"data-prior {share:g}, Gibbs": alone.sign.bound, f"data-prior {share:g}, KL": from_part.kl}
    return found


def answered(folder: Path) -> dict[str, Any]:
    """The threshold of a stated risk at the temperature next to the model's of those that the run has sums at."""
    written = json.loads((folder / "calibration.json").read_text())
    wanted, grid = written["model_temperature"] or 1.0, [row["temperature"] for row in written["temperatures"]]
    temperature = min(grid, key=lambda t: abs(np.log(t / wanted)))
    bins = FederationBins.read(folder / "calibration.json", temperature)
    candidates = from_bins(bins.tested, bins.reference, RISK_DELTA)
    found = {"samples": bins.tested.n, "wrong of all": bins.tested.n - bins.tested.correct}
    try:
        rule = choose_threshold(candidates, bins.tested.n, RISK, RISK_DELTA)
    except DataError as error:
        return found | {"none": str(error)}
    return found | {"answered": rule.answered / bins.tested.n, "threshold": rule.threshold, "wrong": rule.wrong}


def main() -> None:
    """Print a line for each site and each run, and the means."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for runs, data and sites")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1])
    parser.add_argument("--preset", default="", help="settings of the runs; default: the defaults")
    args = parser.parse_args()
    torch.set_num_threads(1)
    rows = []
    for seed in args.seeds:
        folder = run(args.out / f"unseen-{seed}", seed, args.preset)
        print(json.dumps({"seed": seed, **answered(folder)}), flush=True)
        for i in range(CLIENTS - UNSEEN, CLIENTS):
            rows.append(certificates(site_of(folder, f"client-{i:02d}"), seed))
            print(json.dumps(rows[-1]), flush=True)
    numbers = [key for key, value in rows[0].items() if isinstance(value, float)]
    print(json.dumps({key: float(np.mean([row[key] for row in rows])) for key in numbers}))


if __name__ == "__main__":
    main()
