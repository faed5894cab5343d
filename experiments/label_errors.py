"""How well `pfedgp check-data --site` finds wrong labels on scikit-learn's digits.

    pfedgp simulate --seed 0 --rounds 40 --set unseen-clients=2 --out runs/digits
    python -m experiments.label_errors --model runs/digits/best

A site has validation samples of the data set, all classes or two of them, of which 5 % get the label of another of its
classes. Its precision is the share of wrong labels among the 5 % that are most suspicious. A seed draws the classes and
the wrong labels.
"""

import argparse
from pathlib import Path

import numpy as np

from pfedgp.run_model import read_model
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.samples import Split
from pfedgp_core.site.label_errors import suspects
from pfedgp_core.site.origins import Origin
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.trained_model import TrainedModel

SHARE = 0.05


def precision(model: TrainedModel, split: Split, rng: np.random.Generator) -> float:
    """Share of wrong labels among as many of the most suspicious samples as there are wrong ones."""
    n = max(1, round(SHARE * len(split)))
    wrong, labels, classes = rng.permutation(len(split))[:n], split.labels.copy(), np.unique(split.labels)
    for row in wrong:
        labels[row] = rng.choice(classes[classes != labels[row]])
    origins = [Origin(str(i), "", 0) for i in range(len(split))]
    site = SavedSite.fit("site", model, SiteSamples.compute(Split(split.inputs, labels), model, origins))
    named = [int(site.samples.origins[row].id) for row in suspects(site).rows[:n]]
    return float(np.isin(named, wrong).mean())


def main() -> None:
    """Print the precision of each kind of site, a seed at a time, and its mean."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    model, _ = read_model(args.model)
    samples = load_dataset("digits").validation
    for k in (10, 2):
        found = []
        for seed in range(args.seeds):
            rng = np.random.default_rng(seed)
            held = np.isin(samples.labels, rng.permutation(10)[:k])
            found.append(precision(model, Split(samples.inputs[held], samples.labels[held]), rng))
        listed = " ".join(f"{value:.2f}" for value in found)
        print(f"{k} classes: {listed}; mean {np.mean(found):.2f}, at least 0.8 in {np.sum(np.array(found) >= 0.8)}")


if __name__ == "__main__":
    main()
