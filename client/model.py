"""The shared model of the run that this process serves, built once and refilled with every request's vector."""

from functools import lru_cache

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.datasets import ClientData
from pfedgp_core.shared import SharedState

__all__ = ["shared_state"]


def shared_state(settings: Settings, data: ClientData, vector: np.ndarray) -> SharedState:
    """Return the model with the values of `vector`; DataError where it does not fit the settings.

    Building a network costs more than a small client's update, so a process keeps the last one. A request overwrites
    all that travels, which is all that is used.
    """
    state = _built(settings, tuple(data.train.inputs.shape[1:]), len(data.class_names))
    state.load_vector(vector)
    return state


@lru_cache(maxsize=1)
def _built(settings: Settings, input_shape: tuple[int, ...], class_count: int) -> SharedState:
    return SharedState.initial(settings, input_shape, class_count)
