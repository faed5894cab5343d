"""Methods whose clients train one network with a softmax head, of which some layers may be their own."""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import torch
from torch import Tensor, nn

from pfedgp_core.config import Settings
from pfedgp_core.data.pixels import Inputs
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.local_sgd import mini_batches
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.timing import PhaseTimer, network_time
from pfedgp_core.methods.base import Method, Update
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.split_network import SplitNetwork, train_network
from pfedgp_core.model.softmax_network import SoftmaxNetwork, layer_tensors, predict_softmax
from pfedgp_core.numerics.streams import Stream

__all__ = ["LayeredMethod", "SoftmaxPredictor"]


class LayeredMethod(Method):
    """Clients train the whole network by `train`; the layers that `own_layers` names stay with them.

    A client that was never sampled has the initial own layers, which are the same for all.

    Attributes
    ----------
    network : SoftmaxNetwork
    split : SplitNetwork
        The same network, in what travels and what stays.
    """

    def __init__(
        self, settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(settings, input_shape, class_count, device)
        self.network = SoftmaxNetwork.initial(settings, self.input_shape, class_count).to(self.device)
        own = self.own_layers(layer_tensors(self.network))
        self.split = SplitNetwork(self.network, [name for layer in own for name in layer])
        self._start_shared, self._start_own = self.split.vectors()

    @property
    def personal_layers(self) -> int:
        """How many of the last layers stay with the client."""
        return 0

    def own_layers(self, layers: list[dict[str, Tensor]]) -> list[dict[str, Tensor]]:
        """Those of the network's layers, in their order, that stay with the client."""
        return layers[max(0, len(layers) - self.personal_layers) :]

    def train(self, data: TensorSplit, stream: Stream, result: UpdateResult) -> None:
        """Change the network, which holds what the client starts from, by its data; never without any."""
        train_network(self.network, data, self.batches(data, stream), self.settings, result)

    def batches(self, data: TensorSplit, stream: Stream) -> Iterator[Tensor]:
        """The row numbers of an update's mini-batches: `local-steps`, or `local-epochs` passes."""
        settings = self.settings
        return mini_batches(len(data.labels), settings.batch_size, settings.local_steps, settings.local_epochs, stream)

    def initial(self) -> np.ndarray:
        """See ``Method.initial``: the shared layers."""
        return self._start_shared

    @property
    def upload_size(self) -> int:
        """See ``Method.upload_size``."""
        return len(self._start_shared)

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``: all layers are trained, shared and own together."""
        if not len(data.labels):
            return Update(None, None, UpdateResult("no-data"))
        self.split.load(received, self._own(kept))
        result = UpdateResult()
        with network_time(result):
            self.train(data, stream, result)
        return self.split.taken(result)

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: the shared layers received and the client's own; nothing is fitted."""
        self.split.load(received, self._own(kept))
        return SoftmaxPredictor(self.network, self.class_count)

    def _own(self, kept: np.ndarray | None) -> np.ndarray:
        return self._start_own if kept is None else kept


class SoftmaxPredictor:
    """A network's softmax over all classes of the federation, as a `Predictor`.

    Parameters
    ----------
    network : nn.Module
        Maps inputs [N, ...] to logits [N, classes].
    classes : int
    trained : UpdateResult, optional
        Of a training that this predictor has cost.
    """

    def __init__(self, network: nn.Module, classes: int, trained: UpdateResult | None = None) -> None:
        self.network, self.classes_ = network, np.arange(classes)
        self.counters_: Counter[str] = Counter(trained.counters if trained else ())
        self._timer = PhaseTimer()
        if trained:
            self._timer.seconds.update(trained.seconds)

    @property
    def seconds_(self) -> Mapping[str, float]:
        """See ``Predictor.seconds_``."""
        return dict(self._timer.seconds)

    def predict_proba(self, inputs: Inputs) -> np.ndarray:
        """See ``Predictor.predict_proba``."""
        with self._timer.phase("network"):
            return predict_softmax(self.network, inputs)
