"""FedAvg with fine-tuning: FedAvg in training, and some passes over a client's own data before it predicts."""

import numpy as np

from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.methods.fedavg import FedAvg
from pfedgp_core.methods.layered import SoftmaxPredictor
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.tuning import tune
from pfedgp_core.numerics.streams import Stream

__all__ = ["FedAvgTuned"]


class FedAvgTuned(FedAvg):
    """``fedavg-tuned.epochs`` passes, of the head or of all layers (``fedavg-tuned.layers``); 0 is FedAvg."""

    name = "fedavg-tuned"

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: the network received, after the passes over `train`."""
        self.split.load(received, self._start_own)
        epochs, layers = int(self.option("epochs")), str(self.option("layers"))
        result = tune(self.network, train, epochs, layers, self.settings, stream)
        return SoftmaxPredictor(self.network, self.class_count, result)
