"""What classifiers of `calibration_study.py` answer at clients, and their numbers by every rule for the temperature."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from feature_training import Trained
from features_and_heads import client_features, predictions, whitening
from sklearn.model_selection import StratifiedKFold
from torch import Tensor

from pfedgp_core.data.samples import ClientData
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.methods.base import Method
from pfedgp_core.methods.make import make_method
from pfedgp_core.methods.predictor import LeavesOneOut
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.leave_one_out import leave_one_out_temperature
from pfedgp_core.metrics.likelihood import LikelihoodSums
from pfedgp_core.metrics.model_temperature import choose_temperature
from pfedgp_core.metrics.own_classes import label_columns, restrict
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.metrics.temperature import temperature_scale
from pfedgp_core.numerics.streams import Stream

SEEN, UNSEEN = "seen", "never seen"
RULES = ("1", "model's", "pooled leave-one-out", "own leave-one-out")
STRENGTHS = np.geomspace(0.1, 1e4, 6)  # C of the softmax head's ridge
FOLDS = 5
STEPS, LONGEST, LEAST = 40, 4.0, 1e-6  # of Newton: how many, the longest of a logit, the least curvature
WHITE = ("gp-white",)  # of the trees of `features_and_heads`; the default is fitted by the run's own method


class Place(NamedTuple):
    """A client where classifiers are measured, and whether it has trained."""

    population: str
    data: ClientData
    trained: bool


@dataclass
class Answers:
    """Of a classifier at one client: log probabilities [N, k] and labels' columns [N] by split (``loo``: training)."""

    place: Place
    splits: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)

    def likelihood(self, *names: str) -> LikelihoodSums:
        """Of these splits, as far as they are there."""
        return sum((LikelihoodSums.of(*self.splits[n]) for n in names if n in self.splits), LikelihoodSums())

    def sums(self, temperature: float) -> MetricSums:
        """Of the test data."""
        logs, columns = self.splits.get("test", (np.zeros((0, 1)), np.zeros(0, int)))
        return metric_sums(temperature_scale(np.exp(logs), temperature), columns)


Heads = dict[str, list[Answers]]


def answers(at: Trained, state: np.ndarray, way: str, places: Sequence[Place], seed: int) -> Heads:
    """Every classifier of a way to train, at every client."""
    methods = {way: at.method}
    if way == "fedavg":
        tuned = at.method.settings.replace(method="fedavg-tuned")
        methods["fedavg-tuned"] = make_method(tuned, at.method.input_shape, at.method.class_count)
    heads: Heads = {
        name: [_of_method(method, state, at.kept.get(place.data.name), place, seed) for place in places]
        for name, method in methods.items()
    }
    return heads | _on_features(at, state, places, seed) if way == "default" else heads


def _of_method(method: Method, state: np.ndarray, kept: np.ndarray | None, place: Place, seed: int) -> Answers:
    """Of the run's own classifier, over the client's classes."""
    train, found = place.data.train, Answers(place)
    predictor = method.personal(state, kept, train, Stream(seed, "study", place.data.name))
    own = np.isin(predictor.classes_, train.labels.numpy())
    classes = predictor.classes_[own]
    if isinstance(predictor, LeavesOneOut):
        found.splits["loo"] = predictor.leave_one_out_log_proba(), label_columns(classes, train.labels.numpy())
    for name, split in (("validation", place.data.validation), ("test", place.data.test)):
        if len(split):
            probabilities = restrict(predictor.predict_proba(split.inputs), own)
            found.splits[name] = _logs(probabilities), label_columns(classes, split.labels.numpy())
    return found


def _on_features(at: Trained, state: np.ndarray, places: Sequence[Place], seed: int) -> Heads:
    """Of simple classifiers, and of a tree on whitened features; what all share is of the clients that are seen."""
    clients = [client_features(at, state, place.data) for place in places]
    seen = [client for client, place in zip(clients, places, strict=True) if place.population == SEEN]
    covariance, root = whitening(seen)
    heads: Heads = defaultdict(lambda: [Answers(place) for place in places])
    for i, client in enumerate(clients):
        labels = client.splits["train"][2].numpy()
        for head, split, probabilities in predictions(client, covariance, root, seed, WHITE):
            wanted = client.splits["train" if split == "loo" else split][2].numpy()
            heads[head][i].splits[split] = _logs(probabilities), label_columns(np.unique(labels), wanted)
    scores = [cross_validated(*_unit(client.splits["train"])) for client in clients]
    pooled = pooled_choice(s for s, place in zip(scores, places, strict=True) if place.population == SEEN)
    for i, client in enumerate(clients):
        own = pooled if scores[i] is None else int(np.argmax(scores[i]))
        for head, choice in (("softmax-own", own), ("softmax-pooled", pooled)):
            heads[head][i].splits.update(_softmax(client.splits, choice))
    return dict(heads)


def _unit(split: tuple[Tensor, Tensor | None, Tensor]) -> tuple[np.ndarray, np.ndarray]:
    return unit_sphere(split[0]).double().numpy(), split[2].numpy()


def cross_validated(features: np.ndarray, labels: np.ndarray) -> np.ndarray | None:
    """Log-likelihood by cross-validation for every strength; None where a class has a single sample."""
    classes, counts = np.unique(labels, return_counts=True)
    folds = min(FOLDS, int(counts.min()))
    if folds < 2 or len(classes) < 2:
        return None
    found = np.zeros(len(STRENGTHS))
    for known, held in StratifiedKFold(folds, shuffle=True, random_state=0).split(features, labels):
        weights, biases = ridges(features[known], labels[known] == classes[1], STRENGTHS)
        logits = features[held] @ weights.T + biases
        found -= np.logaddexp(0, np.where(labels[held] == classes[1], -1, 1)[:, None] * logits).sum(0)
    return found


def pooled_choice(scores: Iterable[np.ndarray | None]) -> int:
    """Place among the strengths of the largest sum over clients."""
    return int(np.argmax(sum((s for s in scores if s is not None), np.zeros(len(STRENGTHS)))))


def ridges(features: np.ndarray, second: np.ndarray, strengths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Logistic regressions of two classes, weights [S, d] and biases [S], by Newton's method in the samples.

    They minimise C times the sum of -log p(class) plus half the squared norm of the weights, which are X'a: a step
    solves (K + 1 / (C p (1 - p))) a + b = f + (y - p) / (p (1 - p)) under sum(a) = 0, for the logits f = K a + b.
    """
    n, y = len(features), second.astype(float)
    system = np.ones((len(strengths), n + 1, n + 1))
    gram = features @ features.T
    system[:, :n, :n], system[:, n, n] = gram, 0.0
    solution, logits, rows = np.zeros((len(strengths), n + 1)), np.zeros((len(strengths), n)), np.arange(n)
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-logits))
        curvature = np.maximum(p * (1 - p), LEAST)
        system[:, rows, rows] = gram.diagonal() + 1 / (strengths[:, None] * curvature)
        wanted = np.concatenate([logits + (y - p) / curvature, np.zeros((len(strengths), 1))], axis=1)
        solution = np.linalg.solve(system, wanted[..., None])[..., 0]
        following = solution[:, :n] @ gram + solution[:, n:]
        logits = logits + np.clip(following - logits, -LONGEST, LONGEST)
    return solution[:, :n] @ features, solution[:, n]


def _softmax(
    splits: dict[str, tuple[Tensor, Tensor | None, Tensor]], choice: int
) -> Iterator[tuple[str, tuple[np.ndarray, np.ndarray]]]:
    """A logistic regression on the unit sphere; of a single class it is certain."""
    features, labels = _unit(splits["train"])
    classes = np.unique(labels)
    head = ridges(features, labels == classes[1], STRENGTHS[[choice]]) if len(classes) > 1 else None
    for name in splits.keys() - {"train"}:
        rows, wanted = _unit(splits[name])
        logits = np.zeros((len(rows), 0)) if head is None else rows @ head[0].T + head[1]
        logs = -np.logaddexp(0, np.concatenate([logits, -logits], axis=1)) if head else np.zeros((len(rows), 1))
        yield name, (logs, label_columns(classes, wanted))


def _logs(probabilities: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(probabilities)


def measured(found: Sequence[Answers]) -> Iterator[dict[str, str | float]]:
    """The numbers of one classifier, for each population and rule.

    The model's temperature is chosen as at the end of a run: by validation data of the clients that are seen, with
    leave-one-out of those among them that were never drawn.
    """
    seen = [each for each in found if each.place.population == SEEN]
    chosen = choose_temperature(
        [each.likelihood("validation") if each.place.trained else each.likelihood("validation", "loo") for each in seen]
    )
    leaves = all("loo" in each.splits for each in found)
    for population in (SEEN, UNSEEN):
        there = [each for each in found if each.place.population == population]
        temperatures: dict[str, list[float]] = {"1": [1.0] * len(there)}
        if chosen is not None:
            temperatures["model's"] = [chosen.value] * len(there)
        if leaves and chosen is not None:
            pooled = choose_temperature([each.likelihood("loo") for each in there])
            temperatures["pooled leave-one-out"] = [1.0 if pooled is None else pooled.value] * len(there)
            temperatures["own leave-one-out"] = [
                leave_one_out_temperature(*each.splits["loo"], chosen.value, chosen.spread) for each in there
            ]
        for rule, values in temperatures.items():
            sums = sum((each.sums(t) for each, t in zip(there, values, strict=True)), MetricSums())
            if sums.n:
                numbers = summarise(sums)
                shown = {key: float(numbers[key] or 0.0) for key in ("accuracy", "ece", "nll", "brier")}
                spread = {"temperature": float(np.exp(np.mean(np.log(values)))), "n": sums.n}
                yield {"population": population, "rule": rule, **shown, **spread}
