"""Arrays in MNIST's IDX files, packed by gzip or not: what a header asks for is compared with what the file holds."""

import gzip
import math
import os
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pfedgp_core.files.checksum import md5_of
from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError, decoding, open_regular
from pfedgp_core.words import shape_text, size

__all__ = ["read_idx"]

_BYTES = 0x08  # the code of unsigned bytes, which all files of the MNIST family hold
_MOST_AXES = 4
_TIMES = 1032  # as much as gzip packs at most


def read_idx(path: Path, md5: str = "") -> np.ndarray:
    """Read an array of bytes.

    Parameters
    ----------
    path : Path
        A name that ends with ``.gz`` is one of a packed file.
    md5 : str
        What the checksum of a packed file must be, in hex; empty: any.

    Returns
    -------
    numpy.ndarray, uint8 [N, ...]

    Raises
    ------
    MissingFileError
        There is no such file.
    UnreadableFileError
        Another checksum, a file that is no such array, is cut or longer than its header says, or does not fit into
        memory.
    """
    with open_regular(path) as file, decoding(path):
        if path.suffix != ".gz":
            return _array(file, os.fstat(file.fileno()).st_size)
        if md5 and (found := md5_of(path)) != md5:
            raise MalformedError(f"its checksum is {found}, and that of the published file {md5}")
        packed = os.fstat(file.fileno()).st_size
        with gzip.GzipFile(fileobj=file) as unpacked:
            try:
                return _array(unpacked, _TIMES * packed + 1024)
            except EOFError as error:
                raise MalformedError("it is cut") from error


def _array(file: BinaryIO | gzip.GzipFile, most: int) -> np.ndarray:
    """The array, which has at most so many bytes."""
    start = file.read(4)
    if len(start) < 4 or start[:2] != b"\0\0" or start[2] != _BYTES or not 1 <= start[3] <= _MOST_AXES:
        raise MalformedError("it is no IDX file of bytes")
    axes = file.read(4 * start[3])
    if len(axes) < 4 * start[3]:
        raise MalformedError("it is cut")
    shape = tuple(int(axis) for axis in np.frombuffer(axes, ">u4"))
    count = math.prod(shape)
    if count > most:
        raise MalformedError(f"its header says {shape_text(shape)}, which is more than it can hold")
    require_free(count)
    content = file.read(count)
    if len(content) < count:
        raise MalformedError(f"it is cut: of {size(count)} there are {size(len(content))}")
    if file.read(1):
        raise MalformedError(f"it goes on after the {shape_text(shape)} bytes of its header")
    return np.frombuffer(content, np.uint8).reshape(shape)
