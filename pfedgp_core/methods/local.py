"""Local (the paper's): the whole of pFedGP, with a network that each client owns and trains alone."""

from collections.abc import Collection

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.errors import ConfigError
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.methods.base import Update
from pfedgp_core.methods.evaluation import EvaluationResult
from pfedgp_core.methods.pfedgp import PFedGP
from pfedgp_core.methods.update import local_update
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.wire.names import OK, PERSONAL

__all__ = ["Local"]


class Local(PFedGP):
    """``local.epochs`` steps on the client's whole data, by one optimiser, once; then the network stays as it is.

    The training has a stream of its own, so a client's network does not depend on the round in which it was first
    sampled. A client that was never sampled trains for each evaluation anew, and comes to the same network.
    """

    name, keeps, onboards = "local", True, False

    @classmethod
    def check_settings(cls, settings: Settings) -> None:
        """See ``Method.check_settings``: there is nobody to share a head with."""
        if settings.gp.prior_mean == "head":
            raise ConfigError(
                "gp.prior-mean = 'head' does not go with method = 'local', whose clients share nothing: set "
                "gp.prior-mean = 'zero', as --preset zero-mean does, or method = 'pfedgp'."
            )

    def initial(self) -> np.ndarray:
        """See ``Method.initial``: the server has nothing."""
        return np.zeros(0, np.float32)

    def alone(self) -> np.ndarray:
        """See ``Method.alone``: nothing, as before round 1."""
        return self.initial()

    def own_places(self, classes: Collection[int]) -> np.ndarray | None:
        """See ``Method.own_places``: nothing travels anyway."""
        return None

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``: all of the training at the first call, nothing at later ones."""
        if kept is not None:
            return Update(None, None, UpdateResult(PERSONAL))
        result = self._train(data, stream)
        if result.status != OK:
            return Update(None, None, result)
        result.status = PERSONAL
        return Update(None, self._state.to_vector(), result)

    def shared_state(
        self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream
    ) -> SharedState:
        """See ``PFedGP.shared_state``: the client's own network."""
        if kept is None:
            self._train(train, stream)
        else:
            self._state.load_vector(kept)
        return self._state

    def evaluate(
        self,
        received: np.ndarray,
        kept: np.ndarray | None,
        data: ClientData,
        split: str,
        stream: Stream,
        left_out: bool = False,
    ) -> EvaluationResult:
        """See ``Method.evaluate``. Left-out training samples say nothing here: they all trained the network."""
        return super().evaluate(received, kept, data, split, stream)

    def _train(self, data: TensorSplit, stream: Stream) -> UpdateResult:
        """Train from the initial network; an epoch is one step on all data, on a tree of its own."""
        self._state.load_vector(super().initial())
        settings = self.settings.replace(local_epochs=1)
        optimiser = SGD(self._state.parameters(), settings.learning_rate, settings.momentum, settings.weight_decay)
        total = UpdateResult()
        for epoch in range(1, int(self.option("epochs")) + 1):
            # The streams of a federation in which this client trains in every round.
            own = Stream(settings.seed, "train", epoch, stream.path[-1], device=stream.device)
            result = local_update(self._state, data, settings, own, optimiser=optimiser)
            if result.status in ("no-data", "single-class"):
                return result
            total.loss = result.loss if total.loss is None else total.loss
            total.steps += result.steps
            total.gradients += result.gradients
            total.counters += result.counters
            for phase, seconds in result.seconds.items():
                total.seconds[phase] = total.seconds.get(phase, 0.0) + seconds
        if not total.steps:
            total.status = "no-step"
        return total
