"""Images in files of others: known formats, bounded pixels, and one error for whatever a decoder meets."""

import io
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pfedgp_core.files.regular import MalformedError, decoding, one_line, open_regular

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["MOST_PIXELS", "SUFFIXES", "parse_image", "read_image", "read_pages"]

SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
MOST_PIXELS = 50_000_000
# Whatever its name, a file is read as one of these and as nothing else: other formats start other programs.
_FORMATS = ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM")

Check = Callable[["Image"], None]


def read_image(path: Path, check: "Check | None" = None) -> "Image":
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
        return _decoded(file, check)[0]


def read_pages(path: Path, check: "Check | None" = None) -> "list[Image]":
    """All frames of an image in a file, each as `read_image` gives the first; `check` sees the file once."""
    with open_regular(path) as file, decoding(path):
        return _decoded(file, check, whole=True)


def parse_image(content: bytes) -> "Image":
    """The first frame of an image; MalformedError where it is none, damaged or too large."""
    try:
        return _decoded(io.BytesIO(content), None)[0]
    except MalformedError:
        raise
    except Exception as error:  # a damaged image finds errors that no list foresees
        raise MalformedError(one_line(error)) from error


def _decoded(file: BinaryIO, check: "Check | None", whole: bool = False) -> "list[Image]":
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
            frames = int(getattr(opened, "n_frames", 1)) if whole else 1
            if frames * opened.width * opened.height > MOST_PIXELS:
                pages = f"{frames} x " if frames > 1 else ""
                raise MalformedError(f"{pages}{opened.width} x {opened.height}, more than {MOST_PIXELS:,} pixels")
            if check is not None:
                check(opened)
            found = []
            for frame in range(frames):
                if frame:
                    opened.seek(frame)
                    if opened.width * opened.height > MOST_PIXELS:
                        raise MalformedError(f"page {frame + 1} has more than {MOST_PIXELS:,} pixels")
                opened.load()
                image = ImageOps.exif_transpose(opened)  # a copy, so it stays as it is when the file goes on
                assert image is not None  # only in place it gives nothing
                image.format = opened.format
                found.append(image)
            return found
