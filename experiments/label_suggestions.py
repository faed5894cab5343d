r"""How many labels `pfedgp suggest` saves against a random choice, on scikit-learn's digits or on features of CIFAR-10.

    pfedgp simulate --seed 0 --rounds 40 --set unseen-clients=2 --out runs/digits
    python -m experiments.label_suggestions --model runs/digits/best
    pfedgp simulate --dataset cifar10 --data-root cifar10.npz --clients 500 --rounds 300 --set evaluate-every=300 \
        --preset zero-mean --out runs/cifar
    python -m experiments.label_suggestions --model runs/cifar/best --dataset cifar10 --data-root cifar10.npz

A site begins with ten random labelled samples and labels ten more at a time, up to a hundred: those that are
suggested, or random ones (the mean of three draws). Its pool is the data set's validation samples, a thousand drawn
ones at most, which trained nothing but may have helped to choose the best round of the model; accuracy is that on two
thousand drawn test samples at most. A seed draws the first ten. The accuracy to be reached is that of 50, or of all
100, random labels; labels between two steps are interpolated.
"""

import argparse
from pathlib import Path

import numpy as np

from pfedgp.run_model import read_model
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.samples import Split
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.suggestion import suggest

STEP, BUDGET, DRAWS = 10, 100, 3
POOL, TEST = 1_000, 2_000  # samples


class Labelling:
    """A pool, of which a site gets the labels of ever more samples."""

    def __init__(self, path: Path, name: str = "digits", root: str = "") -> None:
        self.model, _ = read_model(path)
        dataset = load_dataset(name, root)
        self.pool, self.test = some_of(dataset.validation, POOL), some_of(dataset.test, TEST)
        self.features = self.model.features(self.pool.inputs)
        self.test_features = self.model.features(self.test.inputs)

    def site(self, rows: np.ndarray) -> SavedSite:
        """With the labels of these samples of the pool."""
        split = Split(self.pool.inputs[rows], self.pool.labels[rows])
        return SavedSite.fit("site", self.model, SiteSamples.compute(split, self.model))

    def curve(self, first: np.ndarray, rng: np.random.Generator | None) -> list[float]:
        """Accuracy after each step, of random samples where there is a generator, else of suggested ones."""
        rows, accuracies = first, []
        while True:
            site = self.site(rows)
            accuracies.append(float((site.classifier.predict(self.test_features) == self.test.labels).mean()))
            if len(rows) == BUDGET:
                return accuracies
            rest = np.setdiff1d(np.arange(len(self.pool)), rows)
            chosen = suggest(site, self.features[rest], STEP).rows if rng is None else rng.permutation(len(rest))[:STEP]
            rows = np.concatenate([rows, rest[chosen]])


def some_of(split: Split, most: int) -> Split:
    """Drawn samples, because those of some files are in the order of their classes; all where there are not more."""
    n = len(split.labels)
    rows = np.sort(np.random.default_rng(0).permutation(n)[:most]) if n > most else np.arange(n)
    return Split(split.inputs[rows], split.labels[rows])


def labels_for(accuracy: float, curve: np.ndarray) -> float:
    """The first number of labels with this accuracy, interpolated; infinite where it is not reached."""
    reached = np.flatnonzero(curve >= accuracy)
    if not len(reached):
        return float("inf")
    k = int(reached[0])
    part = 1.0 if k == 0 else (accuracy - curve[k - 1]) / (curve[k] - curve[k - 1])
    return STEP * (k + part)


def main() -> None:
    """Print a line a seed and the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--dataset", default="digits", choices=("digits", "cifar10"))
    parser.add_argument("--data-root", default="", help="file or folder of CIFAR-10")
    parser.add_argument("--seeds", type=int, default=10)
    args = parser.parse_args()
    labelling = Labelling(args.model, args.dataset, args.data_root)
    saved = []
    for seed in range(args.seeds):
        rng = np.random.default_rng(seed)
        first = rng.permutation(len(labelling.pool))[:STEP]
        random = np.mean([labelling.curve(first, rng) for _ in range(DRAWS)], axis=0)
        suggested = np.array(labelling.curve(first, None))
        needs = [(n, labels_for(random[n // STEP - 1], suggested)) for n in (BUDGET // 2, BUDGET)]
        saved.append([1 - need / labels_for(random[n // STEP - 1], random) for n, need in needs])
        curves = "; ".join(" ".join(f"{100 * value:.1f}" for value in curve) for curve in (random, suggested))
        print(f"seed {seed}: random; suggested {curves}; saved {' '.join(f'{s:.0%}' for s in saved[-1])}", flush=True)
    for column, n in enumerate((BUDGET // 2, BUDGET)):
        found = np.array(saved)[:, column]
        print(
            f"accuracy of {n} random labels: at least 20 % fewer in {(found >= 0.2).sum()} of {len(found)} seeds, "
            f"median {np.median(found):.0%}"
        )


if __name__ == "__main__":
    main()
