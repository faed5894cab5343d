"""Methods whose clients train one network with a softmax head, some layers shared and the others their own.

FedAvg, FedPer and the network alone are this one update with another list of personal layers.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.local_sgd import local_sgd, mini_batches
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.learning.timing import PhaseTimer
from pfedgp_core.methods.base import Method, Update
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.model.flat import fill, flatten, length
from pfedgp_core.model.softmax_network import SoftmaxNetwork, layer_tensors, predict_softmax
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.wire.names import OK, PERSONAL

__all__ = ["LayeredMethod", "SoftmaxPredictor", "train_network"]


class LayeredMethod(Method):
    """Clients train the whole network; the last `personal_layers` layers stay with them.

    A client that was never sampled has the initial personal layers, which are the same for all.
    """

    def __init__(
        self, settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(settings, input_shape, class_count, device)
        self.network: nn.Module = SoftmaxNetwork.initial(settings, self.input_shape, class_count).to(self.device)
        layers = layer_tensors(self.network)
        first = max(0, len(layers) - self.personal_layers)
        self.shared: list[Tensor] = [t for layer in layers[:first] for t in layer]
        self.own: list[Tensor] = [t for layer in layers[first:] for t in layer]
        self._start_shared, self._start_own = flatten(self.shared), flatten(self.own)

    @property
    def personal_layers(self) -> int:
        """How many of the last layers stay with the client."""
        raise NotImplementedError

    def initial(self) -> np.ndarray:
        """See ``Method.initial``: the shared layers."""
        return self._start_shared

    @property
    def upload_size(self) -> int:
        """See ``Method.upload_size``."""
        return length(self.shared)

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``: `local-steps` mini-batches of SGD on all layers, shared and personal together."""
        if not len(data.labels):
            return Update(None, None, UpdateResult("no-data"))
        self._load(received, kept)
        settings, result = self.settings, UpdateResult()
        batches = mini_batches(
            len(data.labels), settings.batch_size, settings.local_steps, settings.local_epochs, stream
        )
        train_network(self.network, data, batches, settings, result)
        if result.status != OK:
            return Update(None, None, result)
        if not self.shared:
            result.status = PERSONAL
        return Update(flatten(self.shared) if self.shared else None, flatten(self.own) if self.own else None, result)

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: the shared layers received and the client's own; nothing is fitted."""
        self._load(received, kept)
        return SoftmaxPredictor(self.network, self.class_count)

    def _load(self, received: np.ndarray, kept: np.ndarray | None) -> None:
        remedy = "server and client must use the same method, network, feature-dim and input shape."
        fill(self.shared, received, "The shared vector", remedy)
        fill(self.own, self._start_own if kept is None else kept, "This client's own state", remedy)


class SoftmaxPredictor:
    """A network's softmax over all classes of the federation, as a `Predictor`.

    Parameters
    ----------
    network : nn.Module
        Maps inputs [N, ...] to logits [N, classes].
    classes : int
    """

    def __init__(self, network: nn.Module, classes: int) -> None:
        self.network, self.classes_ = network, np.arange(classes)
        self.counters_: Counter[str] = Counter()
        self._timer = PhaseTimer()

    @property
    def seconds_(self) -> dict[str, float]:
        """See ``Predictor.seconds_``."""
        return dict(self._timer.seconds)

    def predict_proba(self, inputs: Tensor) -> np.ndarray:
        """See ``Predictor.predict_proba``."""
        with self._timer.phase("network"):
            return predict_softmax(self.network, inputs)


def train_network(
    network: nn.Module,
    data: TensorSplit,
    batches: Iterable[Tensor],
    settings: Settings,
    result: UpdateResult,
    clock: Callable[[], float] = time.perf_counter,
) -> None:
    """SGD on the mean cross entropy of each mini-batch, by a fresh optimiser; the network is changed in place.

    Parameters
    ----------
    network : nn.Module
        Maps inputs [N, ...] to logits [N, classes].
    data : TensorSplit
    batches : iterable of int64 Tensor
        Row numbers, a batch a step.
    settings : Settings
        ``learning-rate``, ``momentum``, ``weight-decay`` and ``clip-norm``.
    result : UpdateResult
        Gets loss, steps, counters and seconds.
    clock : callable

    Raises
    ------
    NonFiniteError
        The weights are not finite afterwards.
    """
    parameters = list(network.parameters())
    optimiser = SGD(parameters, settings.learning_rate, settings.momentum, settings.weight_decay)
    timer = PhaseTimer(clock)
    network.train()
    with timer.phase("network"):
        local_sgd(parameters, _losses(network, data, batches), optimiser, settings.clip_norm, result)
    result.seconds = dict(timer.seconds)


def _losses(network: nn.Module, data: TensorSplit, batches: Iterable[Tensor]) -> Iterator[Callable[[], Tensor]]:
    def loss(rows: Tensor) -> Tensor:
        return nn.functional.cross_entropy(network(data.inputs[rows]), data.labels[rows])

    return (partial(loss, rows) for rows in batches)
