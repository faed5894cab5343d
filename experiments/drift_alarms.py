"""How often `pfedgp_core.site.drift` raises a false alarm, and after how many changed samples a true one.

    python -m experiments.drift_alarms --streams 10000
    python -m experiments.drift_alarms --model runs/digits/best

The first command watches streams of exchangeable scores, 60 of them the reference and 300 new. The second gives a site
150 validation samples of scikit-learn's digits, 30 of each of five classes at most, then 30 unchanged test samples and
changed ones: shifted by two pixels, with noise, of classes that the site does not have, or with inverted grey. A stream
without a change has test samples alone. The median delay is that over 20 orders of the samples.
"""

import argparse
from pathlib import Path

import numpy as np
import torch

from pfedgp.run_model import read_model
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.samples import Split
from pfedgp_core.site.drift import JumperState, advance, first_alarm
from pfedgp_core.site.drift_scores import new_scores, own_scores
from pfedgp_core.site.samples import SiteSamples
from pfedgp_core.site.saved import SavedSite

HELD = (0, 1, 2, 3, 4)
BEFORE, AFTER, ORDERS = 30, 100, 20


def synthetic(streams: int) -> None:
    """Count false alarms."""
    alarms = 0
    for seed in range(streams):
        rng = np.random.default_rng(seed)
        scores = rng.gamma(1.5, size=(2, 360))
        alarms += first_alarm(advance(JumperState.start(scores[:, :60]), scores[:, 60:], rng)[1]) is not None
    print(f"{alarms} false alarms in {streams} streams, {alarms / streams:.2%}")


def changed(inputs: np.ndarray, kind: str, rng: np.random.Generator) -> np.ndarray:
    """The samples after a change."""
    if kind == "shift":
        return np.roll(inputs, 2, axis=-1)
    if kind == "noise":
        return np.clip(inputs + rng.normal(scale=80, size=inputs.shape), 0, 255).astype(inputs.dtype)
    return 255 - inputs if kind == "inverted grey" else inputs


def digits(path: Path) -> None:
    """Delays and false alarms on the digits."""
    torch.set_num_threads(1)
    model, _ = read_model(path)
    dataset = load_dataset("digits")
    rows = np.flatnonzero(np.isin(dataset.validation.labels, HELD))[:150]
    split = Split(dataset.validation.inputs[rows], dataset.validation.labels[rows])
    site = SavedSite.fit("site", model, SiteSamples.compute(split, model))
    own = own_scores(site)
    known = dataset.test.inputs[np.isin(dataset.test.labels, HELD)]
    strange = dataset.test.inputs[~np.isin(dataset.test.labels, HELD)]
    for kind in ("no change", "shift", "noise", "unknown class", "inverted grey"):
        found = []
        for seed in range(ORDERS):
            rng = np.random.default_rng(seed)
            order = known[rng.permutation(len(known))]
            later = strange[rng.permutation(len(strange))] if kind == "unknown class" else order[BEFORE:]
            stream = np.concatenate([order[:BEFORE], changed(later[:AFTER], kind, rng)])
            found.append(first_alarm(advance(JumperState.start(own), new_scores(site, stream), rng)[1]))
        late = [np.inf if at is None else at - BEFORE + 1 for at in found if at is None or at >= BEFORE]
        early = sum(at is not None and at < BEFORE for at in found)
        median = np.median(late) if late else np.nan
        alarms = sum(at is not None for at in found)
        print(
            f"{kind}: {alarms} alarms of {ORDERS}, {early} of them before a change, median delay {median:g}", flush=True
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--streams", type=int, default=10_000)
    parser.add_argument("--model", type=Path)
    args = parser.parse_args()
    if args.model is None:
        synthetic(args.streams)
    else:
        digits(args.model)
