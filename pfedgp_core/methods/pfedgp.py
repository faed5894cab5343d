"""pFedGP (Achituve et al. 2021): a shared kernel network, and Gaussian processes fitted to each client's own data."""

from collections import Counter
from collections.abc import Collection
from functools import cached_property

import numpy as np
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.pixels import Inputs
from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.learning.timing import PhaseTimer
from pfedgp_core.methods.base import Method, Update
from pfedgp_core.methods.evaluation import EvaluationResult, evaluate_client
from pfedgp_core.methods.head_update import head_update
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.methods.update import decayed, local_update
from pfedgp_core.model.features import compute_features
from pfedgp_core.model.shared import SharedState
from pfedgp_core.model.shared_head import zero_start
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.registry import VARIANTS
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.wire.names import OK

__all__ = ["PFedGP", "TreePredictor"]


class PFedGP(Method):
    """Clients take a gradient step of the GP tree's loss; the personal classifier is the tree itself, never trained.

    Nothing has to be kept at a client: its classifier follows from what it receives and its own data.
    """

    name, onboards = "pfedgp", True

    @cached_property
    def _state(self) -> SharedState:
        """Overwritten by every request; a server, which has none, never makes it."""
        return SharedState.initial(self.settings, self.input_shape, self.class_count).to(self.device)

    def initial(self) -> np.ndarray:
        """See ``Method.initial``: network, and inducing inputs and scales where the settings have them."""
        return SharedState.initial(self.settings, self.input_shape, self.class_count).to_vector()

    def alone(self) -> np.ndarray:
        """See ``Method.alone``: about a head that knows nothing, as one of random values would spoil the answers."""
        state = SharedState.initial(self.settings, self.input_shape, self.class_count)
        if state.head is not None:
            zero_start(state.head)
        return state.to_vector()

    @cached_property
    def _inducing(self) -> tuple[slice, int, int]:
        """Where the inducing inputs are in the state, for how many classes, and the length of the state."""
        state = SharedState.initial(self.settings, self.input_shape, self.class_count)
        return state.inducing_places(), 0 if state.inducing is None else len(state.inducing), state.size

    def own_places(self, classes: Collection[int]) -> np.ndarray | None:
        """See ``Method.own_places``: all but the inducing inputs of classes that the client's tree does not have.

        With noise all travel: the update's noise is on all of them.
        """
        settings = self.settings
        if not VARIANTS[settings.variant].needs_inducing or settings.task != "classification":
            return None
        if settings.classes == "all" or settings.dp_noise or not classes:
            return None
        where, count, size = self._inducing
        if len(classes) == count:
            return None
        places = np.ones(size, bool)
        rows = places[where].reshape(count, -1)
        rows[:] = False
        rows[list(classes)] = True
        return places

    def unread(self, state: np.ndarray, steps: int) -> np.ndarray:
        """See ``Method.unread``: the decay of the weights, as a client computes it whose gradient is zero there."""
        where, following = self._inducing[0], state.copy()
        following[where] = decayed(torch.from_numpy(following[where]), self.settings, steps).numpy()
        return following

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``: the paper's ClientUpdate (`local_update`), or that of the shared head."""
        self._state.load_vector(received)
        of_head = self.settings.objective == "softmax"
        result = (head_update if of_head else local_update)(self._state, data, self.settings, stream)
        return Update(self._state.to_vector() if result.status == OK else None, None, result)

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: a tree of Gaussian processes, fitted to `train`."""
        return TreePredictor(self.shared_state(received, kept, train, stream), train, self.settings, stream)

    def evaluate(
        self,
        received: np.ndarray,
        kept: np.ndarray | None,
        data: ClientData,
        split: str,
        stream: Stream,
        left_out: bool = False,
    ) -> EvaluationResult:
        """See ``Method.evaluate``; of a regression, errors and coverage."""
        state, train = self.shared_state(received, kept, data.train, stream), data.train
        if split == "validation":
            return evaluate_client(state, train, data.validation, self.settings, stream)
        validation = data.validation
        return evaluate_client(state, train, data.test, self.settings, stream, validation=validation, left_out=left_out)

    def shared_state(
        self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream
    ) -> SharedState:
        """The kernel network, and all else that is not personal, with which this client predicts."""
        self._state.load_vector(received)
        return self._state


class TreePredictor:
    """The kernel network and a tree fitted on its features, as a `Predictor` on raw inputs.

    Parameters
    ----------
    state : SharedState
    train : TensorSplit
    settings : Settings
    stream : Stream
        Of the Gibbs chains.
    """

    def __init__(self, state: SharedState, train: TensorSplit, settings: Settings, stream: Stream) -> None:
        self._network, self._timer = state.network, PhaseTimer()
        state.eval()
        with self._timer.phase("network"):
            features = compute_features(state.network, train.inputs)
        with self._timer.phase("gp"):
            self.classifier = PersonalClassifier(settings, stream, state.inducing, state.kernel(settings), state.head)
            self.classifier.fit(features, train.labels)

    @property
    def classes_(self) -> np.ndarray:
        """See ``Predictor.classes_``: those of the training data, or with ``classes = all`` of the federation."""
        return self.classifier.classes_

    @property
    def counters_(self) -> Counter[str]:
        """See ``Predictor.counters_``."""
        return self.classifier.counters_

    @property
    def seconds_(self) -> dict[str, float]:
        """See ``Predictor.seconds_``."""
        return dict(self._timer.seconds)

    def predict_proba(self, inputs: Inputs) -> np.ndarray:
        """See ``Predictor.predict_proba``."""
        with self._timer.phase("network"):
            features = compute_features(self._network, inputs)
        with self._timer.phase("gp"):
            return self.classifier.predict_proba(features)

    def leave_one_out_log_proba(self) -> np.ndarray:
        """See ``LeavesOneOut``."""
        with self._timer.phase("gp"):
            return self.classifier.leave_one_out_log_proba()
