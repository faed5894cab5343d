"""The vector for each client, as the method says; one vector for several clients is packed once."""

import numpy as np
from flwr.app import ArrayRecord

from pfedgp_core.methods.base import Method
from pfedgp_core.methods.make import check_vector, explained_method
from server.flower.messages import Packed

__all__ = ["Downloads"]


class Downloads:
    """The downloads of one exchange.

    Parameters
    ----------
    method : Method
    state : float32 [P]
        The server's state.
    arrays : ArrayRecord, optional
        `state`, where it is packed already.
    """

    def __init__(self, method: Method, state: np.ndarray, arrays: ArrayRecord | None = None) -> None:
        self.method, self.state, self._arrays = method, state, arrays
        self._packed: dict[int, Packed] = {}  # by the identity of the vector that the method returned
        self._returned: list[np.ndarray] = []  # held, so that no identity is used again

    def of(self, client: str) -> Packed:
        """The download of a client, by its name."""
        with explained_method(self.method.settings.method, "download"):
            vector = self.method.download(self.state, client)
        if id(vector) not in self._packed:
            check_vector(self.method.settings.method, "download", vector)
            self._returned.append(vector)
            self._packed[id(vector)] = Packed(vector, self._arrays if vector is self.state else None)
        return self._packed[id(vector)]
