"""Methods whose clients train one network with a softmax head, the first layers shared and the last ones their own."""

from abc import abstractmethod
from collections import Counter

import numpy as np
import torch
from torch import nn

from pfedgp_core.config import Settings
from pfedgp_core.data.pixels import Inputs
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.local_sgd import mini_batches
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.timing import PhaseTimer
from pfedgp_core.methods.base import Method, Update
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.split_network import SplitNetwork
from pfedgp_core.model.softmax_network import SoftmaxNetwork, layer_tensors, predict_softmax
from pfedgp_core.numerics.streams import Stream

__all__ = ["LayeredMethod", "SoftmaxPredictor"]


class LayeredMethod(Method):
    """Clients train the whole network; the last `personal_layers` layers stay with them.

    A client that was never sampled has the initial personal layers, which are the same for all.
    """

    def __init__(
        self, settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(settings, input_shape, class_count, device)
        network = SoftmaxNetwork.initial(settings, self.input_shape, class_count).to(self.device)
        layers = layer_tensors(network)
        first = max(0, len(layers) - self.personal_layers)
        self.split = SplitNetwork(network, [name for layer in layers[first:] for name in layer])
        self._start_shared, self._start_own = self.split.vectors()

    @property
    @abstractmethod
    def personal_layers(self) -> int:
        """How many of the last layers stay with the client."""

    def initial(self) -> np.ndarray:
        """See ``Method.initial``: the shared layers."""
        return self._start_shared

    @property
    def upload_size(self) -> int:
        """See ``Method.upload_size``."""
        return len(self._start_shared)

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``: `local-steps` mini-batches of SGD on all layers, shared and personal together."""
        if not len(data.labels):
            return Update(None, None, UpdateResult("no-data"))
        settings = self.settings
        batches = mini_batches(
            len(data.labels), settings.batch_size, settings.local_steps, settings.local_epochs, stream
        )
        return self.split.update(received, self._own(kept), data, batches, settings)

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: the shared layers received and the client's own; nothing is fitted."""
        self.split.load(received, self._own(kept))
        return SoftmaxPredictor(self.split.network, self.class_count)

    def _own(self, kept: np.ndarray | None) -> np.ndarray:
        return self._start_own if kept is None else kept


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

    def predict_proba(self, inputs: Inputs) -> np.ndarray:
        """See ``Predictor.predict_proba``."""
        with self._timer.phase("network"):
            return predict_softmax(self.network, inputs)
