"""The method of the run that this process serves, built once and used for every request, and what it receives."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch

from client.foreign_code import refuse_code_of_server
from client.memory import require_room
from client.messages import Request
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData
from pfedgp_core.errors import DataError, NonFiniteError
from pfedgp_core.methods.base import Method, Update
from pfedgp_core.methods.make import make_method
from pfedgp_core.wire.names import OK

__all__ = ["Received", "checked_update", "received", "site_method"]


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


@dataclass(frozen=True)
class Received:
    """What a request's vector is to the method.

    Attributes
    ----------
    vector : float32 [P]
        The whole vector, with zeros where the client reads nothing and was sent nothing.
    places : bool [P] or None
        The values that the server has sent and wants back; None: all.
    """

    vector: np.ndarray
    places: np.ndarray | None = None

    def part(self, vector: np.ndarray) -> np.ndarray:
        """What the server wants of such a vector."""
        return vector if self.places is None else vector[self.places]


def received(request: Request, method: Method, data: ClientData) -> Received:
    """Return the vector of a request, filled up where the server has sent what some classes need alone.

    Raises
    ------
    DataError
        It has another length than these classes need, or this site has other classes by now.
    """
    sent = request.shared_vector()
    if not request.classes:
        return Received(sent)
    if max(request.classes) >= len(data.class_names):
        raise DataError(
            f"The server names class {max(request.classes)} where the federation has {len(data.class_names)}: run the "
            "same pfedgp version on both sides."
        )
    if others := sorted(set(data.train.labels.unique().tolist()) - set(request.classes)):
        raise DataError(
            f"This site has {data.class_names[others[0]]!r}, which it did not have when it greeted the server: the "
            "server greets it anew before the next round."
        )
    places = method.own_places(request.classes)
    if places is None or sent.shape != (int(places.sum()),):
        raise DataError(
            f"The server's vector of {sent.size} values does not fit the classes that it names: run the same pfedgp "
            "version on both sides."
        )
    vector = np.zeros(len(places), np.float32)
    vector[places] = sent
    return Received(vector, places)


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
