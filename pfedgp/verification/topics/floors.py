"""Rules for the topic floors: class means and a softmax head on given features."""

from typing import TypeVar

import torch
from torch import Tensor

from pfedgp.verification.cases.question import Question, Rule
from pfedgp_core.errors import DataError
from pfedgp_core.floors.base import FeatureClassifier
from pfedgp_core.floors.class_mean import ClassMeans
from pfedgp_core.floors.softmax_head import SoftmaxHead

__all__ = ["FLOORS_RULES"]

Made = TypeVar("Made", bound=FeatureClassifier)


def _samples(q: Question) -> tuple[Tensor, Tensor]:
    return q.inputs.tensor("features", q.workspace.dtype, 2), q.inputs.tensor("labels", torch.int64, 1)


def _means(q: Question, distance: str) -> ClassMeans:
    scale = q.inputs.number("scale") if distance == "cosine" else 1.0
    return _checked(q, ClassMeans(*_samples(q), scale, distance))


def _head(q: Question) -> SoftmaxHead:
    number = q.inputs.number
    return _checked(q, SoftmaxHead(*_samples(q), number("head_lr"), int(number("head_steps")), number("head_l2", 0.0)))


def _checked(q: Question, made: Made) -> Made:
    if (stated := q.inputs.values.get("classes")) is not None and made.classes_.tolist() != stated:
        raise DataError(f"The classes {made.classes_.tolist()} are not {stated}.")
    return made


def _probabilities(q: Question, classifier: FeatureClassifier) -> Tensor:
    return classifier.log_probabilities(q.inputs.tensor("test_features", q.workspace.dtype, 2)).exp()


def _labels(q: Question, classifier: FeatureClassifier) -> list[int]:
    places = _probabilities(q, classifier).argmax(1).numpy()
    found: list[int] = classifier.classes_[places].tolist()
    return found


def _weights(q: Question) -> dict[str, Tensor]:
    head = _head(q)
    return {"W": head.weight, "b": head.bias}


FLOORS_RULES = (
    Rule(r"^means$", lambda q: _means(q, "euclidean").means),
    Rule(r"^euclidean probabilities$", lambda q: _probabilities(q, _means(q, "euclidean"))),
    Rule(r"^euclidean labels$", lambda q: _labels(q, _means(q, "euclidean"))),
    Rule(r"^cosine probabilities$", lambda q: _probabilities(q, _means(q, "cosine"))),
    Rule(r"^cosine labels$", lambda q: _labels(q, _means(q, "cosine"))),
    Rule(r"^head$", _weights),
    Rule(r"^head probabilities$", lambda q: _probabilities(q, _head(q))),
)
