"""The method of the run that this process serves, built once and used for every request."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import torch

from client.foreign_code import refuse_foreign_code
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData
from pfedgp_core.methods.base import Method
from pfedgp_core.methods.make import make_method

__all__ = ["site_method"]


def site_method(settings: Settings, data: ClientData, node_config: Mapping[str, Any]) -> Method:
    """Return the run's method, with its buffers where the data are.

    Building a network costs more than a small client's update, so a process keeps the last one. A request overwrites
    all that travels and all that is kept, which is all that is used.

    Raises
    ------
    ConfigError
        The method is not known here; or the server names code, and this site's operator has not allowed that.
    """
    refuse_foreign_code(settings, node_config)
    inputs = data.train.inputs
    return _built(settings, tuple(inputs.shape[1:]), len(data.class_names), inputs.device)


@lru_cache(maxsize=1)
def _built(settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> Method:
    return make_method(settings, input_shape, class_count, device)
