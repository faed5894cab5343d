"""FedRep (Collins et al. 2021): a shared base under a head that each client trains first, on the base as it came."""

import numpy as np

from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.local_sgd import mini_batches
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.methods.layered import LayeredMethod, SoftmaxPredictor
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.split_network import train_network
from pfedgp_core.methods.tuning import frozen, train_head, tune
from pfedgp_core.numerics.streams import Stream

__all__ = ["FedRep"]


class FedRep(LayeredMethod):
    """First ``fedrep.head-epochs`` passes of the head on the base received, then the steps of an update on the base.

    The head stays with the client. A client that was never sampled trains its head, in the same passes, when it
    predicts.
    """

    name, keeps = "fedrep", True

    @property
    def personal_layers(self) -> int:
        """The head."""
        return 1

    def train(self, data: TensorSplit, stream: Stream, result: UpdateResult) -> None:
        """See ``LayeredMethod.train``."""
        settings, epochs = self.settings, int(self.option("head-epochs"))
        passes = mini_batches(len(data.labels), settings.batch_size, 0, epochs, stream.child("head"))
        train_head(self.network, data, passes, settings, result)
        with frozen(self.network.head):
            train_network(self.network, data, self.batches(data, stream), settings, result)

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: the base received under the client's own head."""
        self.split.load(received, self._own(kept))
        epochs = int(self.option("head-epochs")) if kept is None else 0
        result = tune(self.network, train, epochs, "head", self.settings, stream)
        return SoftmaxPredictor(self.network, self.class_count, result)
