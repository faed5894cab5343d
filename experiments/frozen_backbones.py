"""Sites of 5 to 50 samples on a frozen backbone: pFedGP beside a linear probe, nearest neighbours and class means.

    python experiments/frozen_backbones.py --data-root FILE --out results.json [--epochs 5]

A small convolutional network (three convolutions with batch normalisation, 128 features) learns five classes of
CIFAR-10, and becomes a TorchScript file. Sites hold three of the other five classes each, and 5, 10, 20 or 50 samples
in all, of each class at least one. No sample of theirs, and no class, was seen by the backbone. Every method has the
same features:

* ``pfedgp``: ``network = frozen:cifar`` at the defaults with ``feature-dim`` 128, before round 1;
* ``pfedgp, 10 rounds``: after 10 rounds of 5 among 20 other sites of 50 samples, which train the projection;
* ``lenet``: the same without a backbone, that is with LeNet before round 1;
* ``linear probe``: logistic regression on the features at unit length, its penalty chosen by cross-validation on the
  site's samples where each class has 3, else C = 10;
* ``scaled probe``: the same on features standardised by the site's samples, C = 1;
* ``1-nn`` and ``5-nn``: nearest neighbours by cosine, of five the share of votes plus 0.1 a class;
* ``class means``: softmax of 6 times the cosine with the class means, the product's ``class-mean`` at its default.

Accuracy, NLL and ECE are over the pooled test samples of all sites, at temperature 1. The interval is that of the mean
of the sites' differences from ``pfedgp``, 1.96 standard errors. Seconds are the CPU's of one site: features, fit and
prediction for the first three, fit and prediction for the others.
"""

import argparse
import json
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from torch import nn

from pfedgp_core.backbones import declare_backbones
from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.samples import Split, TensorSplit, normalised
from pfedgp_core.floors.class_mean import ClassMeans
from pfedgp_core.methods.base import Method, Upload
from pfedgp_core.methods.make import make_method
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.model.features import compute_features
from pfedgp_core.model.frozen import frozen_network, pinned_name
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.wire.names import OK

SHAPE, WIDTH = (3, 32, 32), 128
SEEN, SITE_CLASSES = 5, 3
SIZES = (5, 10, 20, 50)
TEST = 100  # samples of each class at a site
ROUNDS, TRAINERS, DRAWN, TRAINER_SAMPLES = 10, 20, 5, 50
BATCH, PEAK = 64, 0.1


class Site(NamedTuple):
    """Inputs and labels 0..2 of a site: of training, the first so many of the largest size, and of test."""

    train: tuple[np.ndarray, np.ndarray]
    test: tuple[np.ndarray, np.ndarray]

    def first(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The site with so many training samples; the first three are of the three classes."""
        return self.train[0][:count], self.train[1][:count]


def backbone_file(images: Split, epochs: int, path: Path, moments: tuple[np.ndarray, np.ndarray]) -> float:
    """Train a backbone on images of the seen classes, write it, and return its accuracy on the last tenth of them."""
    torch.manual_seed(0)

    def block(before: int, after: int) -> list[nn.Module]:
        convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
        return [convolution, nn.BatchNorm2d(after), nn.ReLU(), nn.MaxPool2d(2)]

    layers = [*block(3, 32), *block(32, 64), *block(64, WIDTH), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    network = nn.Sequential(*layers).to(memory_format=torch.channels_last)
    head = nn.Linear(WIDTH, SEEN)
    data = normalised(images, *moments)
    inputs, labels = data.inputs[:], data.labels
    training = int(0.9 * len(labels))
    optimiser = torch.optim.SGD([*network.parameters(), *head.parameters()], PEAK, 0.9, weight_decay=5e-4)
    steps = epochs * (training // BATCH)
    for step in range(steps):
        if step % (training // BATCH) == 0:
            order = torch.randperm(training)
        rows = order[BATCH * (step % (training // BATCH)) :][:BATCH]
        batch = inputs[rows]
        batch = batch.flip(-1) if step % 2 else batch
        optimiser.param_groups[0]["lr"] = PEAK * min(1.0, 5 * step / steps) * (1 - step / steps)
        loss = nn.functional.cross_entropy(
            head(network(batch.contiguous(memory_format=torch.channels_last))), labels[rows]
        )
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    network.eval()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        torch.jit.trace(network, torch.zeros(2, *SHAPE)).save(str(path))
        right = head(compute_features(network, inputs[training:])).argmax(1) == labels[training:]
    return float(right.float().mean())


def make_site(pools: dict[int, np.ndarray], inputs: np.ndarray, rng: np.random.Generator, count: int) -> Site:
    """A site of three classes, whose samples are taken out of the pools."""
    classes = rng.choice(sorted(pools), SITE_CLASSES, replace=False)
    drawn = np.concatenate([np.arange(SITE_CLASSES), rng.integers(0, SITE_CLASSES, max(count - SITE_CLASSES, 0))])
    parts = []
    for wanted in (drawn, np.repeat(np.arange(SITE_CLASSES), TEST)):
        rows = []
        for label in wanted:
            pool = pools[int(classes[label])]
            rows.append(int(pool[-1]))
            pools[int(classes[label])] = pool[:-1]
        parts.append((inputs[rows], wanted))
    return Site(parts[0], parts[1])


def trained_projection(
    method: Method, sites: list[Site], prepare: Callable[[np.ndarray, np.ndarray], Any]
) -> np.ndarray:
    """The state after the rounds."""
    state = method.initial()
    for t in range(1, ROUNDS + 1):
        chosen = np.random.default_rng(t).choice(len(sites), DRAWN, replace=False)
        uploads = []
        for name in sorted(chosen.tolist()):
            data = prepare(*sites[name].train)
            update = method.update(method.download(state, str(name)), None, data, Stream(0, "update", t, str(name)))
            if update.result.status == OK:
                uploads.append(Upload(str(name), update.upload, state, len(data.labels)))
        state = method.step(state, uploads)
    return state


def probabilities(kind: str, train: np.ndarray, labels: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Of a method that has features alone."""
    unit = [part / np.linalg.norm(part, axis=1, keepdims=True) for part in (train, test)]
    if kind == "linear probe":
        least = np.bincount(labels).min()
        strengths = np.geomspace(0.1, 1000, 9)
        cross = LogisticRegressionCV(Cs=strengths, cv=int(min(5, least)), scoring="neg_log_loss", max_iter=1000)
        fit = (cross if least >= 3 else LogisticRegression(C=10, max_iter=1000)).fit(unit[0], labels)
        return fit.predict_proba(unit[1])
    if kind == "scaled probe":
        scaler = StandardScaler().fit(train)
        return (
            LogisticRegression(C=1, max_iter=1000)
            .fit(scaler.transform(train), labels)
            .predict_proba(scaler.transform(test))
        )
    if kind.endswith("-nn"):
        k = min(int(kind[0]), len(labels))
        votes = KNeighborsClassifier(k).fit(unit[0], labels).predict_proba(unit[1]) * k + 0.1
        return votes / votes.sum(1, keepdims=True)
    found = ClassMeans(torch.from_numpy(train), torch.from_numpy(labels), scale=6.0)
    return found.log_probabilities(torch.from_numpy(test)).double().exp().numpy()


def tree_answers(settings: Settings, vector: np.ndarray, site: Site, count: int, moments: Any) -> np.ndarray:
    """Of pFedGP's personal classifier on a network."""
    state = SharedState.initial(settings, SHAPE, SITE_CLASSES)
    state.load_vector(vector)
    state.eval()
    inputs, labels = site.first(count)
    train, test = (normalised(Split(x, np.zeros(len(x), np.int64)), *moments).inputs for x in (inputs, site.test[0]))
    classifier = PersonalClassifier(settings, Stream(0, "site"), kernel=state.kernel(settings))
    classifier.fit(compute_features(state.network, train), labels)
    return classifier.predict_proba(compute_features(state.network, test))


def run(args: argparse.Namespace, began: float) -> None:
    """The whole experiment."""
    dataset = load_dataset("cifar10", args.data_root)
    inputs, labels = np.asarray(dataset.train.inputs), np.asarray(dataset.train.labels)
    seen = np.flatnonzero(labels < SEEN)[: args.images]
    rng = np.random.default_rng(0)
    rng.shuffle(seen)
    moments = input_statistics(inputs[seen])
    file = Path(tempfile.mkdtemp()) / "cifar.ts"
    accuracy = backbone_file(Split(inputs[seen], labels[seen]), args.epochs, file, moments)
    trained_seconds = time.process_time() - began
    print(f"backbone: accuracy {accuracy:.3f} on its own classes, {trained_seconds:.0f} CPU s", flush=True)
    declare_backbones([f"cifar={file}"])
    pools = {c: rng.permutation(np.flatnonzero(labels == c)) for c in range(SEEN, 10)}
    sites = [make_site(pools, inputs, rng, max(SIZES)) for _ in range(args.sites)]
    trainers = [make_site(pools, inputs, rng, TRAINER_SAMPLES) for _ in range(TRAINERS)]
    frozen = Settings(network=pinned_name("frozen:cifar", SHAPE), feature_dim=WIDTH)
    method = make_method(frozen, SHAPE, SITE_CLASSES)
    first = method.initial()

    def prepare(x: np.ndarray, y: np.ndarray) -> TensorSplit:
        return normalised(Split(x, y), *moments)

    start = time.process_time()
    after = trained_projection(method, trainers, prepare)
    round_seconds = (time.process_time() - start) / ROUNDS
    lenet = Settings(feature_dim=WIDTH)
    trees = {"pfedgp": (frozen, first), "pfedgp, 10 rounds": (frozen, after)}
    trees["lenet"] = (lenet, make_method(lenet, SHAPE, SITE_CLASSES).initial())
    plain = ("linear probe", "scaled probe", "1-nn", "5-nn", "class means")
    backbone = frozen_network(frozen.network, SHAPE, WIDTH).backbone
    rows = []
    for count in SIZES:
        sums: dict[str, list[MetricSums]] = {name: [] for name in (*trees, *plain)}
        seconds: Counter[str] = Counter()
        for site in sites:
            x, y = site.first(count)
            both = [prepare(part, np.zeros(len(part), np.int64)).inputs for part in (x, site.test[0])]
            with torch.no_grad():
                train, test = (backbone(part[:]).numpy() for part in both)
            for name, of_sites in sums.items():
                start = time.process_time()
                if name in trees:
                    found = tree_answers(*trees[name], site, count, moments)
                else:
                    found = probabilities(name, train, y, test)
                seconds[name] += time.process_time() - start
                of_sites.append(metric_sums(found, site.test[1]))
        rows += [row(name, count, found, sums["pfedgp"], seconds[name] / len(sites)) for name, found in sums.items()]
    about = {"backbone_accuracy": accuracy, "backbone_cpu_seconds": trained_seconds, "round_cpu_seconds": round_seconds}
    about |= {"cpu_seconds": time.process_time() - began, "sites": args.sites, "rows": rows}
    args.out.write_text(json.dumps(about, indent=1) + "\n")
    print(json.dumps({key: value for key, value in about.items() if key != "rows"}))
    print("| n | method | accuracy | difference from pfedgp | NLL | ECE | s a site |\n|---|---|---|---|---|---|---|")
    for each in rows:
        difference = f"{100 * each['difference']:+.1f} +- {100 * each['half_width']:.1f}"
        numbers = f"{100 * each['accuracy']:.1f} | {difference} | {each['nll']:.3f} | {each['ece']:.3f}"
        print(f"| {each['samples']} | {each['method']} | {numbers} | {each['seconds']:.2f} |")


def row(name: str, count: int, found: list[MetricSums], base: list[MetricSums], seconds: float) -> dict[str, Any]:
    """Pooled metrics, and the mean difference of the sites' accuracies."""
    pooled = summarise(sum(found[1:], found[0]))
    own, other = (np.array([summarise(each)["accuracy"] for each in sums], float) for sums in (found, base))
    gain = own - other
    half = 1.96 * gain.std(ddof=1) / len(gain) ** 0.5
    metrics = {key: pooled[key] for key in ("accuracy", "nll", "ece")}
    gains = {"difference": float(gain.mean()), "half_width": float(half)}
    return {"method": name, "samples": count, **metrics, **gains, "seconds": seconds}


def main() -> None:
    """Train the backbone, measure every method at every size, write and print the table."""
    parser = argparse.ArgumentParser(description="See the first lines of the file.")
    parser.add_argument("--data-root", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--images", type=int, default=20_000, help="of the seen classes")
    parser.add_argument("--sites", type=int, default=20)
    args = parser.parse_args()
    torch.set_num_threads(1)
    warnings.simplefilter("ignore", FutureWarning)  # of scikit-learn's next versions
    began = time.process_time()
    run(args, began)


if __name__ == "__main__":
    main()
