"""Floors: pFedGP in training, and a simple classifier on the same features in place of the Gaussian processes."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from pfedgp_core.data.pixels import Inputs
from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.floors.base import FeatureClassifier
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.learning.timing import PhaseTimer
from pfedgp_core.methods.base import Method
from pfedgp_core.methods.evaluation import EvaluationResult
from pfedgp_core.methods.pfedgp import PFedGP
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.model.features import compute_features
from pfedgp_core.numerics.streams import Stream

__all__ = ["FeaturePredictor", "OnFeatures"]


class OnFeatures(PFedGP):
    """The shared network is trained as pFedGP trains it; `classifier` replaces the tree at evaluation.

    It sees the features that the kernel sees, on the unit sphere, and knows the client's own classes alone.
    """

    onboards = False

    def own_places(self, classes: Collection[int]) -> np.ndarray | None:
        """See ``Method.own_places``: all, as the state may hold more than pFedGP's."""
        return None

    @abstractmethod
    def classifier(self, received: np.ndarray, features: Tensor, labels: Tensor) -> FeatureClassifier:
        """Fit to a client's features [N, d] and labels [N], under what it received."""

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: the classifier, fitted to `train`."""
        state = self.shared_state(received, kept, train, stream)
        state.eval()
        return FeaturePredictor(state.network, partial(self.classifier, received), train)

    def evaluate(
        self,
        received: np.ndarray,
        kept: np.ndarray | None,
        data: ClientData,
        split: str,
        stream: Stream,
        left_out: bool = False,
    ) -> EvaluationResult:
        """See ``Method.evaluate``: not pFedGP's."""
        return Method.evaluate(self, received, kept, data, split, stream, left_out)


class FeaturePredictor:
    """A network's features and a classifier on them, as a `Predictor` on raw inputs.

    Parameters
    ----------
    network : nn.Module
        Maps inputs [N, ...] to features [N, d].
    fit : callable
        Makes the classifier of features and labels.
    train : TensorSplit
    """

    def __init__(
        self, network: nn.Module, fit: Callable[[Tensor, Tensor], FeatureClassifier], train: TensorSplit
    ) -> None:
        self._network, self._timer = network, PhaseTimer()
        self.counters_: Counter[str] = Counter()
        features = self._features(train.inputs)
        with self._timer.phase("network"):
            self.classifier = fit(features, train.labels)

    @property
    def classes_(self) -> np.ndarray:
        """See ``Predictor.classes_``: those of the training data."""
        return self.classifier.classes_

    @property
    def seconds_(self) -> Mapping[str, float]:
        """See ``Predictor.seconds_``."""
        return dict(self._timer.seconds)

    def predict_proba(self, inputs: Inputs) -> np.ndarray:
        """See ``Predictor.predict_proba``."""
        features = self._features(inputs)
        with self._timer.phase("network"):
            log = self.classifier.log_probabilities(features).double()
            probabilities: np.ndarray = torch.softmax(log, 1).cpu().numpy()
        return probabilities

    def _features(self, inputs: Inputs) -> Tensor:
        with self._timer.phase("network"):
            return self.seen(compute_features(self._network, inputs))

    def seen(self, features: Tensor) -> Tensor:
        """What the classifier sees of the network's features [N, d]."""
        return unit_sphere(features)
