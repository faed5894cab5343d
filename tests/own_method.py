"""A method as a user would write it: each client gets another vector, sends a shorter one, and knows only how often."""

from collections import Counter

import numpy as np
from torch import Tensor

from pfedgp_core.data.samples import TensorSplit
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.methods.base import Method, Update, Upload
from pfedgp_core.methods.predictor import Predictor
from pfedgp_core.numerics.streams import Stream

__all__ = ["DOWNLOAD", "HUGE", "STATE", "UPLOAD", "Ledger"]

STATE, DOWNLOAD, UPLOAD = 7, 5, 2
HUGE = 1e9  # no check of norms would let it pass


class Ledger(Method):
    """The state counts uploads in its first place; the other places never change."""

    name, private = "ledger", False

    def initial(self) -> np.ndarray:
        """See ``Method.initial``."""
        return np.zeros(STATE, np.float32)

    @property
    def upload_size(self) -> int:
        """See ``Method.upload_size``."""
        return UPLOAD

    def download(self, state: np.ndarray, client: str) -> np.ndarray:
        """See ``Method.download``: the state's beginning, and the client's number in the last place."""
        vector = state[:DOWNLOAD].copy()
        vector[-1] = int(client[-1])
        return vector

    def update(self, received: np.ndarray, kept: np.ndarray | None, data: TensorSplit, stream: Stream) -> Update:
        """See ``Method.update``: the client's number comes back."""
        return Update(np.array([received[-1], HUGE], np.float32), None, UpdateResult(loss=0.0))

    def step(self, state: np.ndarray, uploads: list[Upload]) -> np.ndarray:
        """See ``Method.step``: counts the uploads that came from those who were sent their number."""
        following = state.copy()
        following[0] += sum(u.vector[0] == u.sent[-1] == int(u.client[-1]) for u in uploads)
        return following

    def personal(self, received: np.ndarray, kept: np.ndarray | None, train: TensorSplit, stream: Stream) -> Predictor:
        """See ``Method.personal``: all classes are equally likely."""
        return _Even(self.class_count)


class _Even:
    def __init__(self, classes: int) -> None:
        self.classes_ = np.arange(classes)
        self.counters_: Counter[str] = Counter()
        self.seconds_: dict[str, float] = {}

    def predict_proba(self, inputs: Tensor) -> np.ndarray:
        return np.full((len(inputs), len(self.classes_)), 1 / len(self.classes_))
