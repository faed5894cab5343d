"""Floor: federated linear discriminant analysis on pFedGP's features: own means, a covariance learned by all."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from torch import Tensor

from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.floors.discriminant import Discriminant, within_covariance
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.methods.base import Update
from pfedgp_core.methods.on_features import OnFeatures
from pfedgp_core.methods.uploads import Upload
from pfedgp_core.model.covariance import covariance_of, shared_part, triangle_of
from pfedgp_core.model.features import compute_features
from pfedgp_core.model.network import feature_width
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream

__all__ = ["LDA"]


class LDA(OnFeatures):
    """A covariance of the features within a class travels behind the network, and is averaged like it.

    A client sends the covariance of its own data under the network that it received. The server keeps ``lda.memory`` of
    the former one, because five clients have too few samples for it. ``lda.shrinkage`` is the part of it that becomes
    its mean variance.
    """

    name = "lda"

    def initial(self) -> np.ndarray:
        """See ``Method.initial``: the network, and the covariance of a random direction."""
        return self._with_covariance(super().initial())

    def alone(self) -> np.ndarray:
        """See ``Method.alone``: that of pFedGP, and the same covariance."""
        return self._with_covariance(super().alone())

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``: pFedGP's, and the covariance under the network received."""
        network, covariance = self._parts(received)
        own = None
        if len(data.labels):
            state = super().shared_state(network, kept, data, stream)
            state.eval()
            own = within_covariance(unit_sphere(compute_features(state.network, data.inputs)), data.labels)
        update = super().update(network, kept, data, stream)
        if update.upload is None:
            return update
        if own is not None:
            covariance = own.cpu().numpy()[np.triu_indices(self._width)]
        return update._replace(upload=np.concatenate([update.upload, covariance]))

    def step(self, state: np.ndarray, uploads: Sequence[Upload]) -> np.ndarray:
        """See ``Method.step``."""
        following, memory = super().step(state, uploads), np.float32(self.option("memory"))
        self._parts(following)[1][:] += memory * (self._parts(state)[1] - self._parts(following)[1])
        return following

    def shared_state(
        self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream
    ) -> SharedState:
        """See ``PFedGP.shared_state``."""
        return super().shared_state(self._parts(received)[0], kept, train, stream)

    def classifier(self, received: np.ndarray, features: Tensor, labels: Tensor) -> Discriminant:
        """See ``OnFeatures.classifier``."""
        covariance = self.covariance(received).to(features.device)
        return Discriminant(features, labels, covariance, float(self.option("shrinkage")))

    def covariance(self, received: np.ndarray) -> Tensor:
        """The covariance within the classes [d, d], as it came."""
        return covariance_of(received, self._width)

    def _with_covariance(self, vector: np.ndarray) -> np.ndarray:
        width = self._width
        return np.concatenate([vector, np.eye(width, dtype=np.float32)[np.triu_indices(width)] / width])

    @cached_property
    def _width(self) -> int:
        return feature_width(self._state.network.cpu(), self.input_shape)

    def _parts(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Views of the network and of the covariance."""
        return shared_part(vector, self._width), triangle_of(vector, self._width)
