"""A network of which some layers are shared with the server and the others stay with the client: one client's update.

FedAvg, FedPer and the network alone are this one update with another list of own layers; so is LG-FedAvg, whose own
layers are the first ones.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.errors import ConfigError
from pfedgp_core.learning.local_sgd import local_sgd
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD, Optimiser
from pfedgp_core.learning.timing import network_time
from pfedgp_core.methods.base import Update
from pfedgp_core.model.flat import fill, flatten
from pfedgp_core.model.softmax_network import layer_tensors
from pfedgp_core.wire.names import OK, PERSONAL

__all__ = ["SplitNetwork", "batch_losses", "train_network", "trained_parameters"]


class SplitNetwork:
    """A network, and which of its float parameters and buffers travel.

    Parameters
    ----------
    network : nn.Module
        Maps inputs [N, ...] to logits [N, classes].
    own : collection of str
        Names of the tensors that stay with the client, as `layer_tensors` gives them. All others are shared.
    dtype : torch.dtype
        Of the vectors that are sent and kept.

    Attributes
    ----------
    shared, own : dict of str to Tensor
        The network's tensors of each kind by name, in the order in which a vector holds them.

    Raises
    ------
    ConfigError
        `own` has a name that the network does not have.
    """

    def __init__(self, network: nn.Module, own: Collection[str], dtype: torch.dtype = torch.float32) -> None:
        self.network, self._dtype = network, dtype
        tensors = {name: t for layer in layer_tensors(network) for name, t in layer.items()}
        if unknown := sorted(set(own) - set(tensors)):
            raise ConfigError(f"The network has no layer {unknown[0]!r}; name some of {', '.join(tensors)}.")
        self.shared = {name: t for name, t in tensors.items() if name not in own}
        self.own = {name: t for name, t in tensors.items() if name in own}

    def vectors(self) -> tuple[np.ndarray, np.ndarray]:
        """Copies of the shared values and of the client's own."""
        return flatten(list(self.shared.values()), self._dtype), flatten(list(self.own.values()), self._dtype)

    def load(self, received: np.ndarray, own: np.ndarray) -> None:
        """Overwrite the network with shared values and a client's own.

        Raises
        ------
        DataError
            A vector has another length or holds non-finite values.
        """
        remedy = "server and client must use the same method, network, feature-dim and input shape."
        fill(list(self.shared.values()), received, "The shared vector", remedy)
        fill(list(self.own.values()), own, "This client's own state", remedy)

    def update(
        self, received: np.ndarray, own: np.ndarray, data: TensorSplit, batches: Iterable[Tensor], settings: Settings
    ) -> Update:
        """Train all layers together from these vectors; see `train_network`.

        Parameters
        ----------
        received, own : float array
            As in `load`, which says what it refuses.
        data : TensorSplit
        batches : iterable of int64 Tensor
            Row numbers, a batch a step.
        settings : Settings

        Returns
        -------
        Update
            The upload has the shared layers, ``keep`` the client's own. Both are None where no step was taken, and each
            is where there is no such layer.

        Raises
        ------
        NonFiniteError
            The weights are not finite afterwards.
        """
        self.load(received, own)
        result = UpdateResult()
        with network_time(result):
            train_network(self.network, data, batches, settings, result)
        return self.taken(result)

    def taken(self, result: UpdateResult) -> Update:
        """What the network holds after a training that `result` reports, as `update` returns it."""
        if result.status != OK:
            return Update(None, None, result)
        if not self.shared:
            result.status = PERSONAL
        upload, keep = self.vectors()
        return Update(upload if self.shared else None, keep if self.own else None, result)


def train_network(
    network: nn.Module,
    data: TensorSplit,
    batches: Iterable[Tensor],
    settings: Settings,
    result: UpdateResult,
    optimiser: Optimiser | None = None,
) -> None:
    """SGD on the mean cross entropy of each mini-batch; the network is changed in place.

    Parameters
    ----------
    network : nn.Module
        Maps inputs [N, ...] to logits [N, classes]. Parameters that require no gradient stay as they are.
    data : TensorSplit
    batches : iterable of int64 Tensor
        Row numbers, a batch a step.
    settings : Settings
        ``learning-rate``, ``momentum``, ``weight-decay`` and ``clip-norm``.
    result : UpdateResult
        Gets loss, steps, gradients and counters.
    optimiser : Optimiser, optional
        Of the network's parameters; a fresh SGD under the settings if left out.

    Raises
    ------
    NonFiniteError
        The weights are not finite afterwards.
    """
    parameters = trained_parameters(network)
    if optimiser is None:
        optimiser = SGD(parameters, settings.learning_rate, settings.momentum, settings.weight_decay)
    network.train()
    local_sgd(parameters, batch_losses(network, data, batches), optimiser, settings.clip_norm, result)


def trained_parameters(network: nn.Module) -> list[nn.Parameter]:
    """The parameters that require a gradient."""
    return [p for p in network.parameters() if p.requires_grad]


def batch_losses(network: nn.Module, data: TensorSplit, batches: Iterable[Tensor]) -> Iterator[Callable[[], Tensor]]:
    """For each batch of row numbers, its mean cross entropy under the network at the moment of the call."""

    def loss(rows: Tensor) -> Tensor:
        return nn.functional.cross_entropy(network(data.inputs[rows]), data.labels[rows])

    return (partial(loss, rows) for rows in batches)
