"""The method of the run that this process serves, built once and used for every request."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from client.foreign_code import refuse_code_of_server
from client.memory import require_room
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData
from pfedgp_core.errors import DataError, NonFiniteError
from pfedgp_core.methods.base import Method, Update
from pfedgp_core.methods.make import make_method
from pfedgp_core.wire.names import OK

__all__ = ["checked_update", "site_method"]


def site_method(settings: Settings, data: ClientData, node_config: Mapping[str, Any]) -> Method:
    """Return the run's method, with its buffers where the data are.

    Building a network costs more than a small client's update, so a process keeps the last one. A request overwrites
    all that travels and all that is kept, which is all that is used.

    Raises
    ------
    ConfigError
        The method is not known here; or the server names code, and this site's operator has not allowed that.
    MemoryLimitError
        The run needs more memory than this site may use.
    """
    refuse_code_of_server(settings, node_config)
    require_room(settings, data, node_config)
    inputs = data.train.inputs
    return _built(settings, tuple(inputs.shape[1:]), len(data.class_names), inputs.device)


def checked_update(method: Method, update: Update) -> Update:
    """Hold an update to what its method promises, before anything of it is kept or sent.

    Raises
    ------
    DataError
        An upload without the status ``ok`` or the reverse, or a state of a method that keeps none.
    NonFiniteError
        Upload or state are not finite.
    """
    name = method.settings.method
    if (update.upload is not None) != (update.result.status == OK):
        raise DataError(
            f"The method {name!r} reports {update.result.status!r} with{'' if update.upload is not None else 'out'} an "
            "upload: its status must be 'ok' exactly where there is one."
        )
    if update.keep is not None and not method.keeps:
        raise DataError(f"The method {name!r} leaves a state to keep: set keeps = True in its class.")
    for vector in (update.upload, update.keep):
        if vector is not None and not np.isfinite(vector).all():
            raise NonFiniteError(f"The method {name!r} made values that are not finite, so nothing is kept or sent.")
    return update


@lru_cache(maxsize=1)
def _built(settings: Settings, input_shape: tuple[int, ...], class_count: int, device: torch.device) -> Method:
    return make_method(settings, input_shape, class_count, device)
