"""FedProx (Li et al. 2020): FedAvg whose clients are drawn back to where they started."""

from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.proximal import ProximalSGD, copies
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.methods.fedavg import FedAvg
from pfedgp_core.methods.split_network import train_network
from pfedgp_core.numerics.streams import Stream

__all__ = ["FedProx"]


class FedProx(FedAvg):
    """w_k = SGD(w; L_k + mu/2 |w_k - w|^2) with ``fedprox.mu``; 0 is FedAvg to the bit."""

    name = "fedprox"

    def train(self, data: TensorSplit, stream: Stream, result: UpdateResult) -> None:
        """See ``LayeredMethod.train``."""
        settings, parameters = self.settings, list(self.network.parameters())
        optimiser = ProximalSGD(
            parameters,
            copies(parameters),
            float(self.option("mu")),
            settings.learning_rate,
            settings.momentum,
            settings.weight_decay,
        )
        train_network(self.network, data, self.batches(data, stream), settings, result, optimiser)
