"""DICOM images (extra ``dicom``): their pixels as the modality means them, and one field of their header if asked.

Nothing else of a header leaves this file, and no text of it goes into an error.
"""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files.image import MOST_PIXELS
from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError, decoding, open_regular

if TYPE_CHECKING:
    from pydicom.dataset import Dataset

__all__ = ["SUFFIXES", "Series", "is_dicom", "read_dicom"]

SUFFIXES = (".dcm", ".dicom", ".ima")
_MAGIC, _PREAMBLE = b"DICM", 128
_PLAIN = ("MONOCHROME1", "MONOCHROME2", "RGB", "YBR_FULL", "YBR_FULL_422")


@dataclass(frozen=True, eq=False)
class Series:
    """The pixels of a file.

    Attributes
    ----------
    frames : numpy.ndarray [F, H, W] or, of colour, uint8 [F, H, W, 3]
    rescaled : bool
        Whether they are numbers of a unit, such as Hounsfield, and no stored values.
    group : str
        What the field holds that was asked for; empty where it is missing.
    """

    frames: np.ndarray
    rescaled: bool
    group: str = ""


def is_dicom(path: Path) -> bool:
    """Whether a file is named or begins as DICOM files do; a list of other files (DICOMDIR) is none."""
    if path.name.upper() == "DICOMDIR":
        return False
    if path.suffix.lower() in SUFFIXES:
        return True
    try:
        with open_regular(path) as file, decoding(path):
            return file.read(_PREAMBLE + len(_MAGIC))[_PREAMBLE:] == _MAGIC
    except UnreadableFileError:
        return False  # whoever reads it says why


def read_dicom(path: Path, held: int, field: str = "") -> Series:
    """Read all frames of a file: rescaled by the modality's table or line, MONOCHROME1 inverted, colours as RGB.

    Parameters
    ----------
    path : Path
    held : int
        Bytes that are taken already, which count twice.
    field : str
        Keyword of the field that names the group, such as PatientID.

    Raises
    ------
    UnreadableFileError
        pydicom is missing, or the file is damaged, too large, without pixels, or packed in a way that needs more.
    """
    with open_regular(path) as file, decoding(path):
        try:
            import pydicom
        except ImportError:
            raise MalformedError("this is DICOM; install pfedgp[dicom]") from None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that bend the standard, in words of the header
            try:
                header = pydicom.dcmread(file, force=True)
                _require_image(header, held)
                frames, rescaled = _pixels(header)
            except MalformedError:
                raise
            except Exception as error:  # its text may quote the header
                raise MalformedError(f"a damaged DICOM file ({type(error).__name__})") from error
        return Series(frames, rescaled, str(header.get(field, "")).strip() if field else "")


def _require_image(header: "Dataset", held: int) -> None:
    if "PixelData" not in header and "FloatPixelData" not in header:
        raise MalformedError("a DICOM file without an image")
    frames, rows, columns = int(header.get("NumberOfFrames") or 1), int(header.Rows), int(header.Columns)
    if rows * columns > MOST_PIXELS:
        raise MalformedError(f"{columns} x {rows}, more than {MOST_PIXELS:,} pixels")
    require_free(
        held + 16 * frames * rows * columns * int(header.get("SamplesPerPixel") or 1), "it and the images before"
    )
    meaning = str(header.get("PhotometricInterpretation", "MONOCHROME2"))
    if meaning not in _PLAIN and not meaning.startswith("YBR"):
        raise MalformedError("a DICOM image of colours in a palette, which pFedGP does not read: convert it to RGB")


def _pixels(header: "Dataset") -> tuple[np.ndarray, bool]:
    """Frames [F, H, W] or [F, H, W, 3], and whether they were rescaled."""
    from pydicom.pixels.processing import apply_rescale
    from pydicom.pixels.utils import pixel_array

    try:
        stored = pixel_array(header)
    except (RuntimeError, AttributeError, NotImplementedError) as error:
        syntax = getattr(getattr(header, "file_meta", None), "TransferSyntaxUID", None)
        if syntax is not None and syntax.is_compressed:
            raise MalformedError(
                f"packed as {syntax.name}, which pydicom needs another package for: unpack it, or install one of "
                "pydicom's pixel data handlers such as pylibjpeg"
            ) from error
        raise
    colour = int(header.get("SamplesPerPixel") or 1) > 1
    if stored.ndim == (3 if colour else 2):
        stored = stored[None]
    if colour:
        if stored.dtype != np.uint8 or stored.shape[-1] != 3:
            raise MalformedError("a DICOM image of colours with more than 8 bits each: convert it to 8 bits")
        return stored, False
    table = "ModalityLUTSequence" in header
    line = (float(header.get("RescaleSlope") or 1), float(header.get("RescaleIntercept") or 0)) != (1.0, 0.0)
    values = apply_rescale(stored, header) if table or line else stored
    if header.get("PhotometricInterpretation") == "MONOCHROME1":
        values = _turned(values, stored, header, apply_rescale if table or line else None)
    return (values.astype(np.float32) if table or line else values), line or _is_hounsfield(header)


def _turned(values: np.ndarray, stored: np.ndarray, header: "Dataset", rescale: Any) -> np.ndarray:
    """Light where they were dark, within what the stored bits can hold."""
    if stored.dtype.kind == "f":
        raise MalformedError("a DICOM image whose floating point values are inverted: convert it to MONOCHROME2")
    bits = int(header.BitsStored)
    ends = np.array([[0, 2**bits - 1]]) - (2 ** (bits - 1) if int(header.PixelRepresentation) else 0)
    low, high = (rescale(ends, header) if rescale else ends)[0].tolist()
    turned = low + high - values.astype(np.float64)
    return np.asarray(turned if rescale else turned.astype(stored.dtype))


def _is_hounsfield(header: "Dataset") -> bool:
    """Whether stored values are Hounsfield units as they are: a line of slope 1 and intercept 0 says nothing else."""
    return str(header.get("RescaleType", "")).strip() == "HU"
