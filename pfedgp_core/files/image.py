"""Images in files of others: known formats, bounded pixels, and one error for whatever a decoder meets."""

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pfedgp_core.files.regular import MalformedError, decoding, one_line, open_regular

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["MOST_PIXELS", "SUFFIXES", "parse_image", "read_image"]

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
MOST_PIXELS = 50_000_000
# Whatever its name, a file is read as one of these and as nothing else: other formats start other programs.
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")


def read_image(path: Path, check: "Callable[[Image], None] | None" = None) -> "Image":
    """The first frame of an image in a file, decoded and upright as its EXIF data say.

    Parameters
    ----------
    path : Path
    check : callable, optional
        Sees the image before it is decoded, and raises MalformedError where it cannot be used.

    Raises
    ------
    MissingFileError
        There is no such file.
    UnreadableFileError
        It is no image, damaged, or has more than `MOST_PIXELS` pixels.
    """
    with open_regular(path) as file, decoding(path):
        return _decoded(file, check)


def parse_image(content: bytes) -> "Image":
    """The first frame of an image; MalformedError where it is none, damaged or too large."""
    try:
        return _decoded(io.BytesIO(content), None)
    except MalformedError:
        raise
    except Exception as error:  # a damaged image finds errors that no list foresees
        raise MalformedError(one_line(error)) from error


def _decoded(file: BinaryIO, check: "Callable[[Image], None] | None") -> "Image":
    from PIL import Image, ImageOps, UnidentifiedImageError

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of damaged metadata, and of sizes that are refused below
        try:
            opened = Image.open(file, formats=_FORMATS)
        except UnidentifiedImageError as error:
            raise MalformedError("not an image") from error
        except Image.DecompressionBombError as error:
            raise MalformedError(f"more than {MOST_PIXELS:,} pixels") from error
        with opened:
            if opened.width * opened.height > MOST_PIXELS:
                raise MalformedError(f"{opened.width} x {opened.height}, more than {MOST_PIXELS:,} pixels")
            if check is not None:
                check(opened)
            opened.load()
            return ImageOps.exif_transpose(opened)
