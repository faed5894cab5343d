"""The vectors of a round as they come: in memory up to a bound, beyond it in a file that has no name.

The sum over a round's updates runs in the order of the clients' names, and the bound on single clients needs the norms
of all of them first. So a round cannot be added up as replies come without giving other bits than the day before. It is
written down instead: memory then depends on the bound and on the length of one vector, not on the clients of a round.
The file lies in a folder that the caller names, as large as the vectors beyond the bound, and is gone with the process.
"""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, overload

import numpy as np

from pfedgp_core.files.whole import explained

__all__ = ["IN_MEMORY", "StoredVectors", "VectorStore", "block_of"]

IN_MEMORY = 256 * 1024**2  # bytes
FLOAT = 4  # bytes of a value


class VectorStore:
    """Vectors of one length by key.

    Parameters
    ----------
    folder : Path, optional
        Where the file for what is beyond the bound lies (default: the system's folder for temporary files, which is
        memory on some systems).
    in_memory : int
        Bytes of vectors that stay in memory.
    """

    def __init__(self, folder: Path | None = None, in_memory: int = IN_MEMORY) -> None:
        self._folder, self._bound = folder or Path(tempfile.gettempdir()), in_memory
        self._held: dict[str, np.ndarray] = {}
        self._places: dict[str, int] = {}  # of the keys that are in the file
        self._bytes = 0  # of what is held
        self._file: IO[bytes] | None = None

    def __contains__(self, key: str) -> bool:
        return key in self._held or key in self._places

    def put(self, key: str, vector: np.ndarray) -> None:
        """Keep a float32 vector [P], in place of what this key had.

        Raises
        ------
        ArtefactError
            The file cannot be written.
        """
        if key in self._held:
            self._held[key] = vector
        elif key in self._places or self._bytes + vector.nbytes > self._bound:
            self._write(self._places.setdefault(key, len(self._places)), vector)
        else:
            self._held[key] = vector
            self._bytes += vector.nbytes

    def get(self, key: str) -> np.ndarray:
        """The vector of a key, float32 [P]."""
        return self._held[key] if key in self._held else self._read(key, slice(None))

    def part(self, key: str, part: slice) -> np.ndarray:
        """The values of `part` of a key's vector, without reading the rest."""
        return self._held[key][part] if key in self._held else self._read(key, part)

    def of(self, keys: Sequence[str]) -> "StoredVectors":
        """The vectors of these keys, in this order, each read when it is asked for."""
        return StoredVectors(self, keys)

    def close(self) -> None:
        """Forget all of them."""
        self._held.clear()
        self._places.clear()
        self._bytes = 0
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write(self, place: int, vector: np.ndarray) -> None:
        with explained(self._folder):
            if self._file is None:
                self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115 (`close` does it)
                self._length = len(vector)
            data = np.ascontiguousarray(vector, np.float32).view(np.uint8).data
            done = 0
            while done < len(data):
                done += os.pwrite(self._file.fileno(), data[done:], place * FLOAT * self._length + done)

    def _read(self, key: str, part: slice) -> np.ndarray:
        assert self._file is not None  # a key without a file is a KeyError
        start, stop, _ = part.indices(self._length)
        values = np.empty(max(0, stop - start), np.float32)
        data, done = values.view(np.uint8).data, 0
        at = FLOAT * (self._places[key] * self._length + start)
        with explained(self._folder):
            while done < len(data):
                read = os.preadv(self._file.fileno(), [data[done:]], at + done)
                if not read:
                    raise OSError("the file with this round's updates was cut")
                done += read
        return values


class StoredVectors(Sequence[np.ndarray]):
    """Vectors of a store in an order; each is read anew whenever it is asked for."""

    def __init__(self, store: VectorStore, keys: Sequence[str]) -> None:
        self._store, self._keys = store, list(keys)

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, place: int) -> np.ndarray: ...

    @overload
    def __getitem__(self, place: slice) -> "StoredVectors": ...

    def __getitem__(self, place: "int | slice") -> "np.ndarray | StoredVectors":
        if isinstance(place, slice):
            return StoredVectors(self._store, self._keys[place])
        return self._store.get(self._keys[place])

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self._store.get(key) for key in self._keys)

    def part(self, i: int, part: slice) -> np.ndarray:
        """The values of `part` of vector `i`."""
        return self._store.part(self._keys[i], part)


def block_of(vectors: Sequence[np.ndarray], part: slice) -> np.ndarray:
    """The values of `part` of all vectors [n, part]."""
    if isinstance(vectors, StoredVectors):
        return np.stack([vectors.part(i, part) for i in range(len(vectors))])
    return np.stack([vector[part] for vector in vectors])
