"""Samples of classes that a site has never seen: how well each score of its classifier tells them from its own.

    python experiments/unknown_classes.py RUN [RUN ...]

Each RUN is the folder of a simulation with unseen-clients. Every client that stayed out of it becomes a site from its
training data; its test samples stand against the test samples of all classes that it does not have.
"""

import sys
from pathlib import Path

import numpy as np
import torch
from sklearn.metrics import roc_auc_score

from pfedgp.run_model import read_model
from pfedgp_core.data.datasets import client_splits, load_dataset
from pfedgp_core.data.simulated import simulated_partition
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.typicality import Typicality

SHARE = 0.05  # of its own samples that a site lets be flagged


def scores_at_sites(run: Path) -> list[tuple[dict[str, float], float, float]]:
    """For each client that stayed out: AUROC by score, shares of own test samples and of foreign ones flagged."""
    model, _ = read_model(run / "best")
    settings = model.settings
    data, partition = load_dataset(settings.dataset, settings.data_root, settings.seed), simulated_partition(settings)
    found = []
    for index, name in enumerate(partition.client_names):
        if name in model.participants:
            continue
        parts = client_splits(data, partition, index)
        site = SavedSite.fit(name, model, SiteSamples.compute(parts["train"], model))
        held = np.unique(parts["train"].labels)
        own = parts["test"].inputs[np.isin(parts["test"].labels, held)]
        foreign = data.test.inputs[~np.isin(data.test.labels, held)]
        inputs, is_foreign = np.concatenate([own, foreign]), np.repeat([False, True], [len(own), len(foreign)])
        posterior, typicality = site.predict(inputs, 1.0), Typicality.of(site)
        features = model.features(inputs)
        scores = {
            "largest probability": -posterior.probabilities.max(axis=1),
            "entropy": posterior.entropy,
            "epistemic": posterior.epistemic,
            "variance": typicality.scores(features),
        }
        flagged = typicality.shares(features) <= SHARE
        aurocs = {score: float(roc_auc_score(is_foreign, values)) for score, values in scores.items()}
        found.append((aurocs, float(flagged[~is_foreign].mean()), float(flagged[is_foreign].mean())))
    return found


def main(runs: list[str]) -> None:
    """Print means over sites, and the worst site."""
    torch.set_num_threads(1)
    sites = [site for run in runs for site in scores_at_sites(Path(run))]
    print(f"{len(sites)} sites of {len(runs)} runs that never trained")
    for score in sites[0][0]:
        values = [aurocs[score] for aurocs, _, _ in sites]
        print(f"{score:<20} AUROC {np.mean(values):.3f}, worst site {min(values):.3f}")
    own, foreign = (np.mean([site[i] for site in sites]) for i in (1, 2))
    print(f"--min-typical {SHARE:g}: {own:.1%} of own samples flagged, {foreign:.1%} of foreign ones")


if __name__ == "__main__":
    main(sys.argv[1:])
