"""The shared model of the run that this process serves, built once and refilled with every request's vector."""

from functools import lru_cache

import numpy as np
import torch

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import ClientData
from pfedgp_core.model.shared import SharedState

__all__ = ["shared_state"]


def shared_state(settings: Settings, data: ClientData, vector: np.ndarray) -> SharedState:
    """Return the model with the values of `vector`, where the data are; DataError where it does not fit the settings.

    Building a network costs more than a small client's update, so a process keeps the last one. A request overwrites
    all that travels, which is all that is used.
    """
    inputs = data.train.inputs
    state = _built(settings, tuple(inputs.shape[1:]), len(data.class_names), inputs.device)
    state.load_vector(vector)
    return state


@lru_cache(maxsize=1)
def _built(settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> SharedState:
    return SharedState.initial(settings, input_shape, class_count).to(device)
