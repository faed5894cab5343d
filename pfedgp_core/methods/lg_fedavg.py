"""LG-FedAvg (Liang et al. 2020): the representation stays with each client, the last layers are shared."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.methods.base import Update
from pfedgp_core.methods.layered import LayeredMethod
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.split_network import SplitNetwork
from pfedgp_core.methods.uploads import Upload
from pfedgp_core.numerics.streams import Stream

__all__ = ["LGFedAvg"]


class LGFedAvg(LayeredMethod):
    """FedPer with the first layers personal in place of the last; every client uses the new shared layers.

    ``lg-fedavg.fedavg-rounds`` rounds of FedAvg may come first, as in the paper of pFedGP; each client's own layers
    then begin with those of FedAvg. In such a run the server's state is the whole network and the number of rounds so
    far, and so is what travels; after these rounds only the shared layers of an upload count.
    """

    name, keeps = "lg-fedavg", True

    def __init__(
        self, settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(settings, input_shape, class_count, device)
        self._warm = int(self.option("fedavg-rounds"))
        self._whole = SplitNetwork(self.network, ())

    def own_layers(self, layers: list[dict[str, Tensor]]) -> list[dict[str, Tensor]]:
        """All but the last ``lg-fedavg.shared-layers``."""
        return layers[: max(0, len(layers) - int(self.option("shared-layers")))]

    def initial(self) -> np.ndarray:
        """See ``Method.initial``: the shared layers; or the whole network and 0 rounds."""
        if not self._warm:
            return super().initial()
        self.split.load(self._start_shared, self._start_own)
        return np.append(self._whole.vectors()[0], np.float32(0))

    @property
    def upload_size(self) -> int:
        """See ``Method.upload_size``."""
        return len(self._start_shared) + (len(self._start_own) + 1 if self._warm else 0)

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``: all layers are trained together."""
        if not self._warm:
            return super().update(received, kept, data, stream)
        if not len(data.labels):
            return Update(None, None, UpdateResult("no-data"))
        shared, own = self._parts(received)
        mixed = self._is_mixed(received)
        update = super().update(shared, kept if mixed and kept is not None else own, data, stream)
        if update.upload is None:
            return Update(None, None, update.result)
        whole = np.append(self._whole.vectors()[0], received[-1])
        return Update(whole, update.keep if mixed else None, update.result)

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: the client's own layers under the shared ones."""
        if not self._warm:
            return super().personal(received, kept, train, stream)
        shared, own = self._parts(received)
        return super().personal(shared, kept if self._is_mixed(received) and kept is not None else own, train, stream)

    def step(self, state: np.ndarray, uploads: Sequence[Upload]) -> np.ndarray:
        """See ``Method.step``; after the rounds of FedAvg what is not shared stays as they left it."""
        following = super().step(state, uploads)
        if not self._warm:
            return following
        if self._is_mixed(state):
            shared, _ = self._parts(following)
            self.split.load(shared, self._parts(state)[1])
            following[:-1] = self._whole.vectors()[0]
        following[-1] = state[-1] + 1
        return following

    def _is_mixed(self, received: np.ndarray) -> bool:
        """Whether the rounds of FedAvg are over."""
        return bool(received[-1] >= self._warm)

    def _parts(self, received: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Shared and other layers of a whole network; DataError where it is none."""
        self._whole.load(received[:-1], np.zeros(0, np.float32))
        return self.split.vectors()
