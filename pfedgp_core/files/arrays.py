"""Arrays in numpy's files of others: what their headers ask for is compared with what they hold before any memory."""

import io
import math
import sys
import zipfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np

from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError, decoding, open_regular
from pfedgp_core.words import size

__all__ = [
    "Arrays",
    "Header",
    "check_values",
    "chosen_members",
    "open_archive",
    "read_header",
    "read_member",
    "read_npz",
]

_SUFFIX = ".npy"
_LARGEST_HEADER = 10_000  # characters, as numpy's own bound
_EMPTY = 65_536  # bytes that the axes of an array without values may stand for
_LIGHT = 64 * 1024 * 1024  # bytes of arrays, however small they are packed
_TIMES = 200  # as large as they are packed, data never are; equal values are up to a thousand times
_PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # numpy's; of others a few bytes become gigabytes at once


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


@dataclass(frozen=True)
class Header:
    """What is said of an array before its values.

    Attributes
    ----------
    shape : tuple of int
    dtype : numpy.dtype
    by_column : bool
        Whether the values lie in Fortran's order.
    length : int
        Bytes of the header.
    """

    shape: tuple[int, ...]
    dtype: "np.dtype[np.generic]"
    by_column: bool
    length: int


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
        It is no such archive, cut, encrypted, holds Python objects, asks for other sizes than it has, for more memory
        than there is, or is packed as no data are.
    """
    with open_regular(path) as file, decoding(path), open_archive(file) as archive:
        names, chosen = chosen_members(archive, file, wanted)
        require_free(sum(info.file_size for info in chosen.values()))
        return Arrays(names, {name: read_member(archive, info) for name, info in chosen.items()})


@contextmanager
def open_archive(file: IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Open an archive that begins where the file is; MalformedError where it is none."""
    start = file.read(6)
    file.seek(0)
    if start == b"\x93NUMPY":
        raise MalformedError("it is a single array")
    if not zipfile.is_zipfile(file):
        raise MalformedError("it is no zip archive, or cut")
    with zipfile.ZipFile(file) as archive:
        yield archive


def chosen_members(
    archive: zipfile.ZipFile, file: IO[bytes], wanted: Collection[str]
) -> tuple[tuple[str, ...], dict[str, zipfile.ZipInfo]]:
    """The names of all arrays of an archive, and by name those that are wanted, of which nothing was unpacked yet.

    Raises
    ------
    MalformedError
        Two have one name, or they are packed as no data are.
    """
    found = _members(archive)
    chosen = {name: info for name, info in found.items() if name.lower() in wanted}
    unpacked, packed = sum(info.file_size for info in chosen.values()), file.seek(0, io.SEEK_END)
    if unpacked > max(_LIGHT, _TIMES * packed):
        raise MalformedError(
            f"{size(packed)} unpack to {size(unpacked)}, as no data do; if they are data, write them with numpy.savez, "
            "which does not pack"
        )
    return tuple(found), chosen


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    found = [info for info in archive.infolist() if info.filename.endswith(_SUFFIX)]
    by_name = {info.filename.removesuffix(_SUFFIX): info for info in found}
    if len(by_name) < len(found):
        raise MalformedError("it holds two arrays of one name")
    return by_name


def read_header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> Header:
    """The header of an array, compared with the bytes that are there; MalformedError where it lies."""
    if info.flag_bits & 1:
        raise MalformedError("it is encrypted")
    if info.compress_type not in _PACKINGS:
        raise MalformedError("it is packed in another way than numpy does")
    with archive.open(info) as member:
        start = io.BytesIO(member.read(_LARGEST_HEADER))
    shape, by_column, dtype = _header(start)
    if dtype.hasobject:
        raise MalformedError("it holds Python objects, which could run code")
    held = info.file_size - start.tell()
    if math.prod(shape) * dtype.itemsize != held:
        raise MalformedError(f"an array of {dtype} {list(shape)[:8]} does not have the {held} bytes that are there")
    if not held and math.prod(max(axis, 1) for axis in shape) * max(dtype.itemsize, 1) > _EMPTY:
        raise MalformedError(f"an array without values has the shape {list(shape)[:8]}")
    return Header(shape, dtype, by_column, start.tell())


def read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """An array of an archive; MalformedError where its header lies or its texts are none."""
    read_header(archive, info)
    with archive.open(info) as member:
        array = np.lib.format.read_array(member, allow_pickle=False, max_header_size=_LARGEST_HEADER)
    return check_values(array)


def check_values(array: np.ndarray) -> np.ndarray:
    """The same array; MalformedError where it holds a text that is none."""
    if array.dtype.kind == "U":
        _require_characters(array)
    return array


def _require_characters(array: np.ndarray) -> None:
    """Raise MalformedError for codes that are no characters, of which Python makes no text."""
    codes = array.reshape(-1, order="A").view(np.dtype("u4").newbyteorder(array.dtype.byteorder))
    if codes.size and (codes.max() > sys.maxunicode or ((codes >= 0xD800) & (codes < 0xE000)).any()):
        raise MalformedError("it holds a text with codes that are no characters")


def _header(member: IO[bytes]) -> tuple[tuple[int, ...], bool, "np.dtype[np.generic]"]:
    try:
        return _parsed(member)
    except ValueError:
        raise
    except Exception as error:  # of the parser of Python, which reads it
        raise MalformedError("the header of an array cannot be parsed") from error


def _parsed(member: IO[bytes]) -> tuple[tuple[int, ...], bool, "np.dtype[np.generic]"]:
    version = np.lib.format.read_magic(member)
    if version == (1, 0):
        shape, by_column, dtype = np.lib.format.read_array_header_1_0(member, max_header_size=_LARGEST_HEADER)
    elif version == (2, 0):
        shape, by_column, dtype = np.lib.format.read_array_header_2_0(member, max_header_size=_LARGEST_HEADER)
    else:
        raise MalformedError(f"an array is of version {version[0]}.{version[1]} of numpy's format, and not 1.0 or 2.0")
    if any(axis < 0 for axis in shape):
        raise MalformedError(f"an array has the shape {list(shape)[:8]}")
    return shape, by_column, dtype
