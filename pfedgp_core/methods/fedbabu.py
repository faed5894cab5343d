"""FedBABU (Oh et al. 2022): the head is never trained in the federation, only at the client that predicts."""

import numpy as np

from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.methods.base import Update
from pfedgp_core.methods.layered import LayeredMethod, SoftmaxPredictor
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.tuning import frozen, tune
from pfedgp_core.numerics.streams import Stream

__all__ = ["FedBABU"]


class FedBABU(LayeredMethod):
    """The body is trained and averaged under the initial head, which is the same for all and never travels.

    Before it predicts, a client takes ``fedbabu.epochs`` passes over its data, of all layers or of the head alone
    (``fedbabu.layers``).
    """

    name = "fedbabu"

    @property
    def personal_layers(self) -> int:
        """The head."""
        return 1

    def train(self, data: TensorSplit, stream: Stream, result: UpdateResult) -> None:
        """See ``LayeredMethod.train``: the body alone."""
        with frozen(self.network.head):
            super().train(data, stream, result)

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``; nothing is kept."""
        return super().update(received, None, data, stream)._replace(keep=None)

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: the body received under the initial head, after the passes over `train`."""
        self.split.load(received, self._start_own)
        epochs, layers = int(self.option("epochs")), str(self.option("layers"))
        result = tune(self.network, train, epochs, layers, self.settings, stream)
        return SoftmaxPredictor(self.network, self.class_count, result)
