"""Arrays in numpy's files of others: what their headers ask for is compared with what they hold before any memory."""

import io
import math
import sys
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from pfedgp_core.files.memory import require_memory
from pfedgp_core.files.regular import MalformedError, decoding, open_regular

__all__ = ["Arrays", "read_npz"]

_SUFFIX = ".npy"
_LARGEST_HEADER = 10_000  # characters, as numpy's own bound
_EMPTY = 65_536  # bytes that the axes of an array without values may stand for


@dataclass(frozen=True)
class Arrays:
    """What a file holds.

    Attributes
    ----------
    names : tuple of str
        Of all its arrays.
    values : dict of str to numpy.ndarray
        Those that were asked for and are there, by name.
    """

    names: tuple[str, ...]
    values: dict[str, np.ndarray]


def read_npz(path: Path, wanted: Collection[str]) -> Arrays:
    """Read some arrays of a ``.npz`` file.

    Parameters
    ----------
    path : Path
    wanted : collection of str
        Their names in lower case; an array is read if its name is one of them in whatever case.

    Raises
    ------
    MissingFileError
        There is no such file.
    UnreadableFileError
        It is no such archive, cut, encrypted, holds Python objects, asks for other sizes than it has, or for more
        memory than there is.
    """
    with open_regular(path) as file, decoding(path), zipfile.ZipFile(_archive(file)) as archive:
        members = [info for info in archive.infolist() if info.filename.endswith(_SUFFIX)]
        names = tuple(info.filename.removesuffix(_SUFFIX) for info in members)
        if len(set(names)) < len(names):
            raise MalformedError("it holds two arrays of one name")
        chosen = [(n, info) for n, info in zip(names, members, strict=True) if n.lower() in wanted]
        require_memory(sum(info.file_size for _, info in chosen))
        return Arrays(names, {name: _array(archive, info) for name, info in chosen})


def _archive(file: IO[bytes]) -> IO[bytes]:
    start = file.read(6)
    file.seek(0)
    if start == b"\x93NUMPY":
        raise MalformedError("it is a single array")
    if not zipfile.is_zipfile(file):
        raise MalformedError("it is no zip archive, or cut")
    return file


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    if info.flag_bits & 1:
        raise MalformedError("it is encrypted")
    with archive.open(info) as member:
        start = io.BytesIO(member.read(_LARGEST_HEADER))
    shape, dtype = _header(start)
    if dtype.hasobject:
        raise MalformedError("it holds Python objects, which could run code")
    held = info.file_size - start.tell()
    if math.prod(shape) * dtype.itemsize != held:
        raise MalformedError(f"an array of {dtype} {list(shape)[:8]} does not have the {held} bytes that are there")
    if not held and math.prod(max(axis, 1) for axis in shape) * max(dtype.itemsize, 1) > _EMPTY:
        raise MalformedError(f"an array without values has the shape {list(shape)[:8]}")
    with archive.open(info) as member:
        array = np.lib.format.read_array(member, allow_pickle=False, max_header_size=_LARGEST_HEADER)
    if array.dtype.kind == "U":
        _require_characters(array)
    return array


def _require_characters(array: np.ndarray) -> None:
    """Raise MalformedError for codes that are no characters, of which Python makes no text."""
    codes = array.reshape(-1, order="A").view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
    if codes.size and (codes.max() > sys.maxunicode or ((codes >= 0xD800) & (codes < 0xE000)).any()):
        raise MalformedError("it holds a text with codes that are no characters")


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], "np.dtype[np.generic]"]:
    try:
        return _shape_and_type(member)
    except ValueError:
        raise
    except Exception as error:  # of the parser of Python, which reads it
        raise MalformedError("the header of an array cannot be parsed") from error


def _shape_and_type(member: IO[bytes]) -> tuple[tuple[int, ...], "np.dtype[np.generic]"]:
    version = np.lib.format.read_magic(member)
    if version == (1, 0):
        shape, _, dtype = np.lib.format.read_array_header_1_0(member, max_header_size=_LARGEST_HEADER)
    elif version == (2, 0):
        shape, _, dtype = np.lib.format.read_array_header_2_0(member, max_header_size=_LARGEST_HEADER)
    else:
        raise MalformedError(f"an array is of version {version[0]}.{version[1]} of numpy's format, and not 1.0 or 2.0")
    if any(axis < 0 for axis in shape):
        raise MalformedError(f"an array has the shape {list(shape)[:8]}")
    return shape, dtype
