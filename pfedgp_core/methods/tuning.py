"""Training of a network's head alone, or of all its layers, on one client's data: what fine-tuning is made of."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from torch import Tensor, nn

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.local_sgd import mini_batches
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.timing import network_time
from pfedgp_core.methods.split_network import train_network
from pfedgp_core.model.softmax_network import SoftmaxNetwork
from pfedgp_core.numerics.streams import Stream

__all__ = ["LAYERS", "frozen", "train_head", "tune"]

LAYERS = ("head", "all")


@contextmanager
def frozen(layers: nn.Module) -> Iterator[None]:
    """The parameters of some layers get no gradients within the block, so they stay as they are."""
    layers.requires_grad_(False)
    try:
        yield
    finally:
        layers.requires_grad_(True)


def train_head(
    network: SoftmaxNetwork, data: TensorSplit, batches: Iterable[Tensor], settings: Settings, result: UpdateResult
) -> None:
    """SGD on the head of a network whose features stay as they are, so that they are computed once.

    Parameters
    ----------
    network : SoftmaxNetwork
        Its head changes in place.
    data : TensorSplit
    batches : iterable of int64 Tensor
        Row numbers, a batch a step.
    settings : Settings
        As for `train_network`, which says what is raised.
    result : UpdateResult
    """
    train_network(network.head, TensorSplit(network.hidden(data.inputs), data.labels), batches, settings, result)


def tune(
    network: SoftmaxNetwork,
    data: TensorSplit,
    epochs: int,
    layers: str,
    settings: Settings,
    stream: Stream,
) -> UpdateResult:
    """Train some passes over the data, of the head or of all layers; none leaves the network as it is.

    Parameters
    ----------
    network : SoftmaxNetwork
        Changed in place.
    data : TensorSplit
        Not empty.
    epochs : int
    layers : {"head", "all"}
    settings : Settings
    stream : Stream
        Of the order of the samples.
    """
    result = UpdateResult()
    if not epochs:
        return result
    batches = mini_batches(len(data.labels), settings.batch_size, 0, epochs, stream.child("tune"))
    with network_time(result):
        (train_head if layers == "head" else train_network)(network, data, batches, settings, result)
    return result
