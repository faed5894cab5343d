"""Tensors in safetensors files of others, and vectors as the bytes that they are, without a copy of them."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import load, save

from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.regular import MalformedError, decoding, one_line, open_regular

__all__ = ["LONGEST_HEADER", "bits_of", "packed_tensors", "parse_tensors", "read_tensors", "same_bits"]

LONGEST_HEADER = 100_000_000  # bytes that safetensors writes and reads


def read_tensors(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The tensors of a file, and the texts in its header.

    Raises
    ------
    MissingFileError
        There is no such file.
    UnreadableFileError
        It is no such file, cut, or its header does not fit what it holds.
    """
    with open_regular(path) as opened, decoding(path):
        if not opened.read(1):
            raise MalformedError("it is empty")
        with safe_open(path, framework="numpy") as file:
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118 (no dict)
            return tensors, dict(file.metadata() or {})


def packed_tensors(tensors: Mapping[str, np.ndarray], header: Mapping[str, str], what: str) -> bytes:
    """The content of a file that `read_tensors` reads.

    Parameters
    ----------
    tensors : mapping of str to array
    header : mapping
        Texts in the header.
    what : str
        The file holds, for the error.

    Raises
    ------
    ArtefactError
        The header is longer than `LONGEST_HEADER`.
    """
    try:
        return bytes(save(dict(tensors), metadata=dict(header)))
    except SafetensorError as error:
        megabytes = sum(len(text.encode()) for text in header.values()) / 1e6
        raise ArtefactError(
            f"{what} needs {megabytes:.0f} MB for its description of clients and data, more than a file takes "
            f"({one_line(error)}): run with fewer clients or classes."
        ) from error


def parse_tensors(content: bytes) -> dict[str, np.ndarray]:
    """The tensors that the content of a file holds; MalformedError where it is something else."""
    try:
        return dict(load(content))
    except Exception as error:  # a header that lies finds errors that no list foresees
        raise MalformedError(one_line(error)) from error


def bits_of(vector: np.ndarray) -> memoryview:
    """The bytes of an array [P]; of one whose values lie side by side no copy is made."""
    return np.ascontiguousarray(vector).view(np.uint8).data


def same_bits(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two arrays [P] have the same bytes, so that NaN is like itself and -0 is not like 0."""
    if one is other:
        return True
    words = np.dtype(np.uint32 if one.dtype == other.dtype == np.float32 else np.uint8)
    return np.array_equal(np.ascontiguousarray(one).view(words), np.ascontiguousarray(other).view(words))
