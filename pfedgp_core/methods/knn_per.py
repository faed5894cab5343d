"""kNN-Per (Marfoq et al. 2022): FedAvg, mixed at each client with the nearest of its own samples."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
import torch

from pfedgp_core.data.pixels import Inputs
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.floors.neighbours import Neighbours
from pfedgp_core.learning.timing import PhaseTimer
from pfedgp_core.methods.fedavg import FedAvg
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.model.softmax_network import SoftmaxNetwork, predict_softmax
from pfedgp_core.numerics.streams import Stream

__all__ = ["KNNPer", "MixedPredictor"]


class KNNPer(FedAvg):
    """p = weight p_neighbours + (1 - weight) p_FedAvg, in the space of what enters the head; nothing is trained.

    ``knn-per.neighbours``, ``knn-per.scale`` and ``knn-per.weight``; a weight of 0 is FedAvg.
    """

    name = "knn-per"

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: a store of the features of `train`."""
        self.split.load(received, self._start_own)
        neighbours = Neighbours(
            self.network.hidden(train.inputs),
            train.labels,
            int(self.option("neighbours")),
            float(self.option("scale")),
        )
        return MixedPredictor(self.network, self.class_count, neighbours, float(self.option("weight")))


class MixedPredictor:
    """A network's softmax mixed with neighbours among its features, as a `Predictor`.

    Parameters
    ----------
    network : SoftmaxNetwork
    classes : int
    neighbours : Neighbours
    weight : float
        Of the neighbours.
    """

    def __init__(self, network: SoftmaxNetwork, classes: int, neighbours: Neighbours, weight: float) -> None:
        self.network, self.classes_ = network, np.arange(classes)
        self._neighbours, self._weight = neighbours, weight
        self.counters_: Counter[str] = Counter()
        self._timer = PhaseTimer()

    @property
    def seconds_(self) -> Mapping[str, float]:
        """See ``Predictor.seconds_``."""
        return dict(self._timer.seconds)

    def predict_proba(self, inputs: Inputs) -> np.ndarray:
        """See ``Predictor.predict_proba``."""
        with self._timer.phase("network"):
            probabilities = predict_softmax(self.network, inputs) * (1 - self._weight)
            votes = torch.exp(self._neighbours.log_probabilities(self.network.hidden(inputs)))
        probabilities[:, self._neighbours.classes_] += self._weight * votes.cpu().double().numpy()
        return probabilities
