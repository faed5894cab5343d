"""NIfTI volumes (extra ``nifti``): their slices, in one orientation whatever the scanner's."""

import gzip
import math
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError, decoding, open_regular

__all__ = ["SUFFIXES", "is_nifti", "read_nifti"]

SUFFIXES = (".nii", ".nii.gz")
_HEADER = 540  # bytes of the larger one of the two kinds
_SECOND = (b"\x1c\x02\x00\x00", b"\x00\x00\x02\x1c")  # beginnings of NIfTI-2
_LONGEST_HEADER = 2**24  # bytes before the values, extensions included


def is_nifti(path: Path) -> bool:
    """Whether a file is named like a NIfTI volume."""
    return path.name.lower().endswith(SUFFIXES)


def read_nifti(path: Path, held: int) -> tuple[np.ndarray, bool]:
    """Read a volume as its axial slices, from feet to head, each with its front above and its left side left.

    Parameters
    ----------
    path : Path
    held : int
        Bytes that are taken already, which count twice.

    Returns
    -------
    numpy.ndarray [S, H, W], bool
        Values scaled as the header says, and whether it says so.

    Raises
    ------
    UnreadableFileError
        nibabel is missing, or the file is damaged, too large, or no volume of numbers.
    """
    with open_regular(path) as file, decoding(path):
        try:
            import nibabel
        except ImportError:
            raise MalformedError("this is NIfTI; install pfedgp[nifti]") from None
        content = _content(path, file, held)
        kind = nibabel.Nifti2Image if content[:4] in _SECOND else nibabel.Nifti1Image
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that bend the standard
            image = kind.from_bytes(content)
            stored: Any = image.dataobj
            scaled = (stored.slope, stored.inter) != (1, 0)
            volume = np.asanyarray(nibabel.as_closest_canonical(image).dataobj)
        volume = volume.reshape(*volume.shape[:2], -1)
        slices = volume.transpose(2, 1, 0)[:, ::-1]
        return np.ascontiguousarray(slices.astype(np.float32) if slices.dtype.kind == "f" else slices), scaled


def _content(path: Path, file: BinaryIO, held: int) -> bytes:
    """The whole file, unpacked; read to the length that its header says and no further."""
    from nibabel import Nifti1Header, Nifti2Header

    packed = path.name.lower().endswith(".gz")
    with gzip.GzipFile(fileobj=file) if packed else nullcontext(file) as plain:
        head = plain.read(_HEADER)
        kind: Any = Nifti2Header if head[:4] in _SECOND else Nifti1Header
        header = kind(head[: kind.template_dtype.itemsize], check=False)
        shape = [int(axis) for axis in header.get_data_shape()]
        if header.get_data_dtype().kind not in "iuf":
            raise MalformedError("a NIfTI file whose values are no single numbers")
        if len(shape) < 2 or math.prod(shape[3:]) != 1:
            raise MalformedError(f"a NIfTI file of {len(shape)} axes: give volumes of three")
        begin, size = int(header["vox_offset"]), math.prod(shape) * header.get_data_dtype().itemsize
        if not 0 <= begin <= _LONGEST_HEADER or size <= 0:
            raise MalformedError("a damaged NIfTI file")
        require_free(held + 6 * size, "it and the images before")
        return head + plain.read(begin + size - len(head))
