"""FOLA (Liu et al. 2021): a Gaussian over the shared weights, by an online Laplace approximation at each client."""

from collections.abc import Sequence

import numpy as np
import torch

from pfedgp_core.bounded_counts import bounded_counts
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.errors import ConfigError
from pfedgp_core.learning.online_laplace import Gaussian, LaplaceSGD, Prior, Weighted, laplace_sgd, product
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.timing import network_time
from pfedgp_core.methods.base import Update
from pfedgp_core.methods.fedavg import FedAvg
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.split_network import batch_losses
from pfedgp_core.methods.uploads import Upload, counts_of, vectors_of
from pfedgp_core.model.flat import fill, flatten
from pfedgp_core.numerics.streams import Stream

__all__ = ["FOLA"]


class FOLA(FedAvg):
    """The server holds mean, diagonal precision and the number of rounds; a client sends its own mean and precision.

    Precisions add up over rounds, so the prior's pull ``fola.lambda`` is divided by the round's number. Clients weigh
    as `aggregation` says, uniformly or by their samples. A client's precision cannot be below the one it received.
    Steps are plain SGD: `momentum` and `weight-decay` are not used, as in the official code; with them it diverges.
    """

    name, private = "fola", False

    @classmethod
    def check_settings(cls, settings: Settings) -> None:
        """See ``Method.check_settings``: averages that are not defined for Gaussians."""
        if settings.aggregation not in ("uniform", "samples"):
            raise ConfigError(
                f"aggregation = {settings.aggregation!r} does not go with method = 'fola', whose server multiplies "
                "Gaussians: set aggregation = 'uniform' or 'samples'."
            )

    def initial(self) -> np.ndarray:
        """See ``Method.initial``: mean, precision 0, and round 1."""
        return np.concatenate([self._start_shared, np.zeros_like(self._start_shared), np.ones(1, np.float32)])

    @property
    def upload_size(self) -> int:
        """See ``Method.upload_size``: mean and precision."""
        return 2 * len(self._start_shared)

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``: plain steps of the prior's pull and the loss."""
        if not len(data.labels):
            return Update(None, None, UpdateResult("no-data"))
        mean, precision, number = self._parts(received)
        self.split.load(mean, self._start_own)
        shared, settings = list(self.split.shared.values()), self.settings
        grown = {id(t): torch.zeros_like(t) for t in shared}  # of buffers it stays as it is
        fill(list(grown.values()), precision, "The shared precision", "server and client must use the same network.")
        parameters, result = list(self.network.parameters()), UpdateResult()
        prior = Prior(
            [p.detach().clone() for p in parameters],
            [grown[id(p)] for p in parameters],
            float(self.option("lambda")) / number,
        )
        optimiser = LaplaceSGD(parameters, prior, settings.learning_rate)
        rows = list(self.batches(data, stream))
        losses = batch_losses(self.network, data, rows)
        weighed = (Weighted(len(b) / len(data.labels), loss) for b, loss in zip(rows, losses, strict=True))
        self.network.train()
        with network_time(result):
            laplace_sgd(parameters, weighed, optimiser, settings.clip_norm, result)
        update = self.split.taken(result)
        if update.upload is None:
            return update
        grown |= {id(p): precision for p, precision in zip(parameters, optimiser.precisions, strict=True)}
        precision = flatten([grown[id(t)] for t in shared])
        return update._replace(upload=np.concatenate([update.upload, precision]))

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: the network at the mean, the same for all."""
        return super().personal(self._parts(received)[0], kept, train, stream)

    def step(self, state: np.ndarray, uploads: Sequence[Upload]) -> np.ndarray:
        """See ``Method.step``: the product of the clients' Gaussians."""
        mean, precision, number = self._parts(state)
        by_samples = self.settings.aggregation == "samples"
        weights = bounded_counts(counts_of(uploads)) if by_samples else [1.0] * len(uploads)
        size, total = len(mean), sum(weights)
        gaussians = (
            Gaussian(weight / total, vector[:size], np.maximum(vector[size:], precision))
            for weight, vector in zip(weights, vectors_of(uploads), strict=True)
        )
        made = product(gaussians, float(self.option("epsilon")), str(self.option("untouched")) == "mean")
        return np.concatenate([*made, [number + 1]]).astype(np.float32)

    def _parts(self, received: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Mean, precision and the round's number; a vector of another length is refused where the mean is loaded."""
        size = len(self._start_shared)
        if len(received) != 2 * size + 1:
            return received, np.zeros(0, np.float32), 1.0
        return received[:size], received[size : 2 * size], float(received[-1])
