"""What the clients of a round sent, as the server's step of a method sees it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, overload

import numpy as np

from pfedgp_core.learning.vector_store import VectorStore

__all__ = ["Upload", "Uploads", "clients_of", "counts_of", "vectors_of"]


class Upload(NamedTuple):
    """One client's part in a round, as the server's `Method.step` sees it.

    Attributes
    ----------
    client : str
        Its name.
    vector : float32 array [upload_size]
        What it sent, shortened where its update is too long.
    sent : float32 array [download_size]
        What it started from.
    n_train : int
        Its training samples, as it says.
    """

    client: str
    vector: np.ndarray
    sent: np.ndarray
    n_train: int


class Uploads(Sequence[Upload]):
    """The uploads of a round, of which each is read when it is asked for, so that one is in memory at a time.

    Parameters
    ----------
    store : VectorStore
        Holds the vectors by client.
    sent : mapping of str to float32 array
        What each client started from.
    counts : mapping of str to int
        Training samples of the clients that have an upload, in the order of the uploads.
    """

    def __init__(self, store: VectorStore, sent: Mapping[str, np.ndarray], counts: Mapping[str, int]) -> None:
        self._store, self._sent, self._counts = store, sent, counts
        self.clients = list(counts)
        self.vectors = store.of(self.clients)
        self.counts = list(counts.values())

    def __len__(self) -> int:
        return len(self.clients)

    @overload
    def __getitem__(self, place: int) -> Upload: ...

    @overload
    def __getitem__(self, place: slice) -> "Uploads": ...

    def __getitem__(self, place: "int | slice") -> "Upload | Uploads":
        if isinstance(place, slice):
            return Uploads(self._store, self._sent, {name: self._counts[name] for name in self.clients[place]})
        name = self.clients[place]
        return Upload(name, self._store.get(name), self._sent[name], self._counts[name])

    def __iter__(self) -> Iterator[Upload]:
        return (self[i] for i in range(len(self)))


def vectors_of(uploads: Sequence[Upload]) -> Sequence[np.ndarray]:
    """The vectors of uploads, in their order; of `Uploads`, each read when it is asked for."""
    return uploads.vectors if isinstance(uploads, Uploads) else [upload.vector for upload in uploads]


def counts_of(uploads: Sequence[Upload]) -> list[int]:
    """The training samples of uploads, in their order."""
    return uploads.counts if isinstance(uploads, Uploads) else [upload.n_train for upload in uploads]


def clients_of(uploads: Sequence[Upload]) -> list[str]:
    """The clients of uploads, in their order."""
    return uploads.clients if isinstance(uploads, Uploads) else [upload.client for upload in uploads]
