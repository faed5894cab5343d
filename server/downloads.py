"""The vector for each client, as the method says; one vector for several clients is packed once."""

import numpy as np
from flwr.app import ArrayRecord

from pfedgp_core.methods.base import Method
from pfedgp_core.methods.make import check_vector, explained_method
from server.flower.messages import OwnClasses, Packed

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
        # By the identity of the vector that the method returned, and by classes.
        self._packed: dict[tuple[int, tuple[int, ...]], Packed] = {}
        self._returned: list[np.ndarray] = []  # held, so that no identity is used again
        self._own: dict[tuple[int, ...], OwnClasses | None] = {}  # by classes
        self._unread: dict[int, np.ndarray] = {}  # by the steps of an update

    def of(self, client: str, classes: tuple[int, ...] = ()) -> Packed:
        """The download of a client, by its name, or the part of it that a client with these classes needs."""
        with explained_method(self.method.settings.method, "download"):
            vector = self.method.download(self.state, client)
            own = self._own_classes(classes)
        key = id(vector), own.classes if own else ()
        if key not in self._packed:
            check_vector(self.method.settings.method, "download", vector)
            self._returned.append(vector)
            whole = vector is self.state and own is None
            self._packed[key] = Packed(vector, self._arrays if whole else None, own)
        return self._packed[key]

    def whole(self, packed: Packed, part: np.ndarray, steps: int) -> np.ndarray:
        """The vector that a client's update makes, from the part of it that it sent.

        Parameters
        ----------
        packed : Packed
            What it got.
        part : float32 [n]
        steps : int
            Of its update, as it says.
        """
        if packed.own is None:
            return part
        steps = min(steps, self.method.settings.local_epochs)
        if steps not in self._unread:
            self._unread[steps] = self.method.unread(packed.vector, steps)
        vector = self._unread[steps].copy()
        vector[packed.own.places] = part
        return vector

    def _own_classes(self, classes: tuple[int, ...]) -> OwnClasses | None:
        if classes not in self._own:
            places = self.method.own_places(classes)
            self._own[classes] = None if places is None else OwnClasses(classes, places)
        return self._own[classes]
