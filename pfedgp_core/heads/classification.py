"""Classification: a tree of binary GPs over the client's classes."""

from collections import Counter

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.heads.base import Head, Personal, Shared, Training
from pfedgp_core.metrics.calibration import CalibrationSums, confusion_counts, temperature_sums
from pfedgp_core.metrics.class_scores import score_counts
from pfedgp_core.metrics.classification import MetricSums, metric_sums
from pfedgp_core.metrics.evidence import TemperatureEvidence, tempered_sums
from pfedgp_core.metrics.likelihood import LikelihoodSums
from pfedgp_core.metrics.own_classes import label_columns, own_class_sums
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.client_tree import ClientTree, tree_classes
from pfedgp_core.tree.objectives import tree_loss
from pfedgp_core.tree.variants.make import make_variant

__all__ = ["Classification", "class_calibration", "class_columns", "class_evidence"]


class Classification(Head):
    """Labels are class ids; there is a set of inducing inputs for every class of the federation."""

    no_sums = MetricSums
    calibrates = True

    def inducing_sets(self, class_count: int) -> int:
        """See ``Head``."""
        return class_count

    def training(self, shared: Shared, labels: Tensor, stream: Stream, counters: Counter[str]) -> Training:
        """See ``Head``."""
        return _TreeTraining(self.settings, shared, labels, stream, counters)

    def personal(self, shared: Shared, stream: Stream) -> Personal:
        """See ``Head``."""
        kernel = shared.kernel(self.settings)
        return _Personal(PersonalClassifier(self.settings, stream, shared.inducing, kernel, shared.head))


class _TreeTraining(Training):
    """The tree is built from the features of the first pass, and fixed for the local epochs."""

    def __init__(
        self, settings: Settings, shared: Shared, labels: Tensor, stream: Stream, counters: Counter[str]
    ) -> None:
        self.settings, self.shared, self.stream, self.counters = settings, shared, stream, counters
        self.labels = labels.cpu()
        self.classes = tree_classes(self.labels, shared.inducing, settings)
        self.learnable = len(self.classes) > 1
        self.tree: ClientTree | None = None

    def loss(self, features: Tensor, epoch: int) -> Tensor | None:
        """See ``Training``."""
        inducing = self.shared.inducing
        if self.tree is None:
            self.tree = ClientTree.build(features.detach(), self.labels, self.classes, inducing, self.stream)
        variant = make_variant(self.settings, self.shared.kernel(self.settings))
        points = self.tree.points(features, inducing, self.shared.head)
        return tree_loss(points, self.tree.tree, variant, self.settings, self.stream.child(epoch), self.counters)


class _Personal(Personal):
    """A `PersonalClassifier`; its predictions are probabilities [T, k]."""

    def __init__(self, classifier: PersonalClassifier) -> None:
        self.classifier = classifier
        self.counters = classifier.counters_
        self._labels = torch.zeros(0, dtype=torch.int64)

    def fit(self, features: Tensor, labels: Tensor) -> None:
        """See ``Personal``."""
        self.counters = self.classifier.fit(features, labels).counters_
        self._labels = labels

    def predict(self, features: Tensor) -> np.ndarray:
        """See ``Personal``."""
        return self.classifier.predict_proba(features)

    def sums(self, predicted: np.ndarray, labels: Tensor) -> MetricSums:
        """See ``Personal``."""
        return metric_sums(predicted, class_columns(self.classifier.classes_, labels))

    def own_sums(self, predicted: np.ndarray, labels: Tensor) -> MetricSums | None:
        """See ``Personal``; with ``classes = all`` the tree holds classes that the client does not have."""
        trained = np.unique(self._labels.cpu().numpy())
        return own_class_sums(predicted, self.classifier.classes_, labels.cpu().numpy(), trained)

    def calibration(
        self, test: tuple[np.ndarray, Tensor], validation: tuple[np.ndarray, Tensor] | None
    ) -> CalibrationSums:
        """See ``Personal``."""
        return class_calibration(self.classifier.classes_, test, validation)

    def evidence(
        self, test: tuple[np.ndarray, Tensor], validation: tuple[np.ndarray, Tensor] | None, left_out: bool
    ) -> TemperatureEvidence:
        """See ``Personal``."""
        able = left_out and self.classifier.leaves_one_out
        without = (self.classifier.leave_one_out_log_proba(), self._labels) if able else None
        return class_evidence(self.classifier.classes_, test, validation, without)


def class_columns(classes: np.ndarray, labels: Tensor) -> np.ndarray:
    """Column of each label [T] among the sorted class ids [k] of a classifier; -1 where it is none of them."""
    return label_columns(classes, labels.cpu().numpy())


def class_calibration(
    classes: np.ndarray, test: tuple[np.ndarray, Tensor], validation: tuple[np.ndarray, Tensor] | None
) -> CalibrationSums:
    """Calibration sums of any classifier.

    Parameters
    ----------
    classes : numpy.ndarray [k]
        Its class ids, ascending; the columns of its probabilities.
    test, validation : (probabilities [T, k], labels [T])
        Validation is None where there are no such samples.
    """
    probabilities, labels = test
    return CalibrationSums(
        CalibrationSums.zero().validation
        if validation is None
        else temperature_sums(validation[0], class_columns(classes, validation[1])),
        temperature_sums(probabilities, class_columns(classes, labels)),
        confusion_counts(labels.cpu().numpy(), classes[probabilities.argmax(axis=1)]),
        score_counts(probabilities, classes, labels.cpu().numpy()),
    )


def class_evidence(
    classes: np.ndarray,
    test: tuple[np.ndarray, Tensor],
    validation: tuple[np.ndarray, Tensor] | None,
    left_out: tuple[np.ndarray, Tensor] | None,
) -> TemperatureEvidence:
    """What the choice of a temperature needs of any classifier.

    Parameters
    ----------
    classes, test, validation
        As in `class_calibration`.
    left_out : (log-probabilities [N, k], labels [N]) or None
        Of the training data, each sample predicted from all others; None where the classifier has none.
    """

    def summed(log_probabilities: np.ndarray, labels: Tensor) -> LikelihoodSums:
        return LikelihoodSums.of(log_probabilities, class_columns(classes, labels))

    with np.errstate(divide="ignore"):
        return TemperatureEvidence(
            LikelihoodSums() if validation is None else summed(np.log(validation[0]), validation[1]),
            LikelihoodSums() if left_out is None else summed(*left_out),
            tempered_sums(test[0], class_columns(classes, test[1])),
        )
