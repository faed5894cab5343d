"""Arrays of a ``.npz`` file a few rows at a time: what is larger than memory is read from beginning to end."""

import math
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from pfedgp_core.files.arrays import check_values, chosen_members, open_archive, read_header, read_member
from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError

__all__ = ["ArrayStream", "StreamedArrays", "open_npz"]


@dataclass(frozen=True)
class ArrayStream:
    """An array that has not been read yet.

    Attributes
    ----------
    shape : tuple of int
        A single value counts as one row.
    dtype : numpy.dtype
    """

    shape: tuple[int, ...]
    dtype: "np.dtype[np.generic]"
    _archive: zipfile.ZipFile
    _info: zipfile.ZipInfo
    _start: int  # bytes of the header
    _by_column: bool

    @property
    def size(self) -> int:
        """Bytes that it unpacks to."""
        return self._info.file_size

    def blocks(self, rows: int) -> Iterator[np.ndarray]:
        """Its rows, so many at a time; without any, one block without rows.

        Raises
        ------
        MalformedError, zipfile.BadZipFile
            The content is cut, or its checksum is wrong, which is known after the last block.
        """
        if self._by_column or not self.shape[0]:
            whole = self.whole()
            yield from (whole[first : first + rows] for first in range(0, max(len(whole), 1), rows))
            return
        width = math.prod(self.shape[1:]) * self.dtype.itemsize
        require_free(width * rows)
        with self._archive.open(self._info) as member:
            member.read(self._start)
            for first in range(0, self.shape[0], rows):
                count = min(rows, self.shape[0] - first)
                content = member.read(count * width)
                if len(content) < count * width:
                    raise MalformedError("it is cut")
                yield check_values(np.ndarray((count, *self.shape[1:]), self.dtype, content))
            member.read(1)  # the checksum is compared at the end

    def whole(self) -> np.ndarray:
        """All its rows; MalformedError where they do not fit into memory."""
        require_free(self._info.file_size)
        return np.atleast_1d(read_member(self._archive, self._info))


@dataclass(frozen=True)
class StreamedArrays:
    """What an archive holds.

    Attributes
    ----------
    names : tuple of str
        Of all its arrays.
    streams : dict of str to ArrayStream
        Those that were asked for and are there, by name.
    """

    names: tuple[str, ...]
    streams: dict[str, ArrayStream]


@contextmanager
def open_npz(file: BinaryIO, wanted: Collection[str]) -> Iterator[StreamedArrays]:
    """Look at the headers of some arrays of a ``.npz`` file; see `pfedgp_core.files.arrays.read_npz`.

    Parameters
    ----------
    file : BinaryIO
        Of an archive, at its beginning.
    wanted : collection of str
        Names in lower case.

    Raises
    ------
    MalformedError, zipfile.BadZipFile
        It is no such archive, its headers ask for other sizes than it has, or it is packed as no data are.
    """
    with open_archive(file) as archive:
        names, chosen = chosen_members(archive, file, wanted)
        yield StreamedArrays(names, {name: _stream(archive, info) for name, info in chosen.items()})


def _stream(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> ArrayStream:
    header = read_header(archive, info)
    by_column = header.by_column and sum(axis > 1 for axis in header.shape) > 1
    return ArrayStream(header.shape or (1,), header.dtype, archive, info, header.length, by_column)
