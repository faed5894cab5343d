"""Ditto (Li et al. 2021): FedAvg, and beside it a personal network at each client that stays near the shared one."""

import numpy as np

from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.proximal import ProximalSGD, copies
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.timing import network_time
from pfedgp_core.methods.base import Update
from pfedgp_core.methods.fedavg import FedAvg
from pfedgp_core.methods.layered import SoftmaxPredictor
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.split_network import train_network
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.wire.names import OK

__all__ = ["Ditto"]


class Ditto(FedAvg):
    """v_k = SGD(v_k; L_k + lambda/2 |v_k - w|^2) with ``ditto.lambda``, w being what the client received.

    The server and its uploads are those of FedAvg to the bit. v_k begins at the w of the client's first visit; a client
    that was never sampled predicts with w.
    """

    name, keeps = "ditto", True

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``: both networks take the same mini-batches."""
        update = super().update(received, None, data, stream)
        if update.result.status != OK:
            return update
        result = UpdateResult()
        with network_time(result):
            keep = self._personal(received, received if kept is None else kept, data, stream, result)
        update.result.steps += result.steps
        update.result.gradients += result.gradients
        update.result.counters.update(result.counters)
        update.result.seconds["network"] += result.seconds["network"]
        return update._replace(keep=keep)

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: the client's own network."""
        self.split.load(received if kept is None else kept, self._start_own)
        return SoftmaxPredictor(self.network, self.class_count)

    def _personal(
        self, received: np.ndarray, own: np.ndarray, data: TensorSplit, stream: Stream, result: UpdateResult
    ) -> np.ndarray:
        """The client's own network after its steps."""
        settings, parameters = self.settings, list(self.network.parameters())
        self.split.load(received, self._start_own)
        anchors = copies(parameters)
        self.split.load(own, self._start_own)
        optimiser = ProximalSGD(
            parameters,
            anchors,
            float(self.option("lambda")),
            settings.learning_rate,
            settings.momentum,
            settings.weight_decay,
        )
        train_network(self.network, data, self.batches(data, stream), settings, result, optimiser)
        return self.split.vectors()[0]
