"""Per-FedAvg (Fallah et al. 2020): one network for all that is good after one step on a client's data."""

from collections.abc import Iterator

import numpy as np
import torch

from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.local_sgd import local_sgd
from pfedgp_core.learning.meta_gradient import MetaLoss, Triple, meta_sgd
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.learning.timing import network_time
from pfedgp_core.methods.fedavg import FedAvg
from pfedgp_core.methods.layered import SoftmaxPredictor
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.split_network import batch_losses
from pfedgp_core.numerics.streams import Stream

__all__ = ["PerFedAvg"]


class PerFedAvg(FedAvg):
    """min mean_k L_k(w - alpha grad L_k(w)); ``per-fedavg.form`` says how its gradient is computed.

    Each step draws three batches: for the inner step of size ``per-fedavg.alpha``, for the gradient after it, and for
    the curvature. The outer step is `learning-rate`. At evaluation a client takes one inner step on all of its
    training data.
    """

    name = "per-fedavg"

    def train(self, data: TensorSplit, stream: Stream, result: UpdateResult) -> None:
        """See ``LayeredMethod.train``."""
        settings, parameters = self.settings, list(self.network.parameters())
        meta = MetaLoss(str(self.option("form")), float(self.option("alpha")), float(self.option("delta")))
        optimiser = SGD(parameters, settings.learning_rate, settings.momentum, settings.weight_decay)
        self.network.train()
        meta_sgd(parameters, self._triples(data, stream), meta, optimiser, settings.clip_norm, result)

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: the network after one inner step on all of `train`."""
        self.split.load(received, self._own(kept))
        parameters, result = list(self.network.parameters()), UpdateResult()
        everything = torch.arange(len(train.labels), device=train.labels.device)
        self.network.train()
        with network_time(result):
            inner = SGD(parameters, float(self.option("alpha")), 0.0, 0.0)
            losses = batch_losses(self.network, train, [everything])
            local_sgd(parameters, losses, inner, self.settings.clip_norm, result)
        return SoftmaxPredictor(self.network, self.class_count, result)

    def _triples(self, data: TensorSplit, stream: Stream) -> Iterator[Triple]:
        """The outer batches are those of FedAvg, so that without an inner step this is FedAvg."""
        streams = (stream.child("inner"), stream, stream.child("curved"))
        losses = [batch_losses(self.network, data, self.batches(data, each)) for each in streams]
        return (Triple(*batches) for batches in zip(*losses, strict=True))
