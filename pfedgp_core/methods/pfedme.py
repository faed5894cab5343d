"""pFedMe (T Dinh et al. 2020): personal models near a shared one, which is trained on their Moreau envelopes."""

from collections.abc import Sequence

import numpy as np
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.errors import ConfigError
from pfedgp_core.learning.moreau import Envelope, moreau_sgd
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.timing import network_time
from pfedgp_core.methods.fedavg import FedAvg
from pfedgp_core.methods.layered import SoftmaxPredictor
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.split_network import batch_losses
from pfedgp_core.methods.uploads import Upload
from pfedgp_core.numerics.streams import Stream

__all__ = ["PFedMe", "mixed"]


class PFedMe(FedAvg):
    """Clients return their w, never their personal theta; the server goes the part ``pfedme.beta`` to the mean.

    A client's theta of an old visit belongs to an old w. So theta is computed anew, from the present w, at every
    evaluation, by the steps of a visit; nothing is kept. Steps are plain SGD with ``pfedme.decay`` as weight decay:
    `momentum` and `weight-decay` are not used.
    """

    name = "pfedme"

    def __init__(
        self, settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device | str = "cpu"
    ) -> None:
        super().__init__(settings, input_shape, class_count, device)
        strength, rate = float(self.option("lambda")), float(self.option("personal-rate"))
        self._envelope = Envelope(
            strength, int(self.option("inner-steps")), rate, settings.learning_rate, float(self.option("decay"))
        )

    @classmethod
    def check_settings(cls, settings: Settings) -> None:
        """See ``Method.check_settings``: step sizes with which the personal model would diverge."""
        strength, rate = (float(cls.option_of(settings, key)) for key in ("lambda", "personal-rate"))
        if rate * strength >= 2:
            raise ConfigError(
                f"pfedme.personal-rate = {rate:g} diverges with pfedme.lambda = {strength:g}: give less than "
                f"{2 / strength:.3g}."
            )

    def train(self, data: TensorSplit, stream: Stream, result: UpdateResult) -> None:
        """See ``LayeredMethod.train``: the network becomes w."""
        for p, w in zip(self.network.parameters(), self._visit(data, stream, result), strict=True):
            p.data.copy_(w)

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: theta of a visit to this client now."""
        self.split.load(received, self._own(kept))
        result = UpdateResult()
        with network_time(result):
            self._visit(train, stream, result)
        return SoftmaxPredictor(self.network, self.class_count, result)

    def step(self, state: np.ndarray, uploads: Sequence[Upload]) -> np.ndarray:
        """See ``Method.step``."""
        return mixed(state, super().step(state, uploads), float(self.option("beta")))

    def _visit(self, data: TensorSplit, stream: Stream, result: UpdateResult) -> list[torch.Tensor]:
        """w after the steps; the network holds theta."""
        self.network.train()
        losses = batch_losses(self.network, data, self.batches(data, stream))
        return moreau_sgd(list(self.network.parameters()), losses, self._envelope, self.settings.clip_norm, result)


def mixed(state: np.ndarray, mean: np.ndarray, beta: float) -> np.ndarray:
    """(1 - beta) state + beta mean, in the precision of the mean; for a beta of 1 the mean to the bit."""
    if beta == 1.0:
        return mean
    following: np.ndarray = ((1 - beta) * state.astype(np.float64) + beta * mean).astype(mean.dtype)
    return following
