"""A file of images as samples need it: its pages, what kind of numbers they hold, and what is lost on the way."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pfedgp_core.data.own.layout import AS_TOLD, FOLDER, Layout
from pfedgp_core.files.dicom import is_dicom, read_dicom
from pfedgp_core.files.image import read_pages
from pfedgp_core.files.memory import require_free
from pfedgp_core.files.nifti import is_nifti, read_nifti
from pfedgp_core.files.regular import MalformedError

if TYPE_CHECKING:
    from PIL.Image import Image

__all__ = ["MODES", "Picture", "fitted_page", "read_picture"]

MODES = {1: "L", 3: "RGB"}
_GREY = ("1", "L", "LA")
_DEEP = ("I", "F")  # Pillow's modes of more than 8 bits begin with these
_WHITE_IS_ZERO, _PHOTOMETRIC = 0, 262  # TIFF's tag


@dataclass(frozen=True, eq=False)
class Picture:
    """A file of images.

    Attributes
    ----------
    pages : sequence of PIL.Image.Image
        At least one; all of one kind.
    kind : str
        Of their numbers, as in `pfedgp_core.data.value_range.Extent`.
    form : str
        What the file is, such as PNG.
    alpha : bool
        Whether it has transparency, which samples do not have.
    group : str
        What the field of its header holds that names the group; empty where it has none.
    """

    pages: "Sequence[Image]"
    kind: str
    form: str
    alpha: bool = False
    group: str = ""


def read_picture(path: Path, held: int, layout: Layout = AS_TOLD) -> Picture:
    """Read a file of images.

    Parameters
    ----------
    path : Path
    held : int
        Bytes of the images before, which are in memory twice.
    layout : Layout
        Its window and the field that names the group are for DICOM and NIfTI.

    Raises
    ------
    UnreadableFileError, MalformedError
        It is no image that samples can be made of.
    """
    if is_nifti(path):
        slices, scaled = read_nifti(path, held)
        return _of_arrays(slices, scaled, "NIfTI", layout)
    if is_dicom(path):
        series = read_dicom(path, held, "" if layout.group_column == FOLDER else layout.group_column)
        return _of_arrays(series.frames, series.rescaled, "DICOM", layout, series.group)
    if layout.window:
        raise MalformedError("--window is for DICOM and NIfTI")

    def check(image: "Image") -> None:
        _require_usable(held, image)

    pages = read_pages(path, check)
    kinds = {_kind(page) for page in pages}
    if len(kinds) > 1:
        raise MalformedError(f"its pages hold several kinds of numbers: {', '.join(sorted(kinds))}")
    alpha = any(page.mode in ("LA", "PA", "RGBA", "RGBa", "La") or "transparency" in page.info for page in pages)
    return Picture(pages, kinds.pop(), str(pages[0].format), alpha)


def fitted_page(page: "Image", channels: int | None, size: Sequence[int] | None) -> np.ndarray:
    """A page as an array.

    Parameters
    ----------
    page : PIL.Image.Image
    channels : int, optional
        1 or 3; without it one for a grey image and three for any other.
    size : (height, width), optional
        To which it is resized (bilinear, antialiased).

    Returns
    -------
    numpy.ndarray [C, H, W]
        uint8, or the page's own type where it holds more; float32 where such a page was resized.
    """
    from PIL import Image

    deep = _is_deep(page)
    image = page if deep else page.convert(MODES[channels or (1 if page.mode in _GREY else 3)])
    if size is not None and (image.height, image.width) != tuple(size):
        image = image.convert("F") if deep else image
        image = image.resize((size[1], size[0]), Image.Resampling.BILINEAR)
    pixels = np.asarray(image)
    if pixels.dtype.byteorder == ">":
        pixels = pixels.astype(pixels.dtype.newbyteorder("="))
    if pixels.ndim == 2:
        return np.repeat(pixels[None], channels or 1, axis=0) if deep else pixels[None]
    return np.ascontiguousarray(pixels.transpose(2, 0, 1))


def _is_deep(image: "Image") -> bool:
    return image.mode.startswith(_DEEP)


def _kind(image: "Image") -> str:
    if not _is_deep(image):
        return "uint8"
    if image.mode == "F":
        return "float"
    # What Pillow gives 32 bits in PNG and PPM has 16 of them.
    return "uint16" if image.mode.startswith("I;16") or image.format in ("PNG", "PPM") else "integer"


def _require_usable(held: int, image: "Image") -> None:
    """Refuse what cannot be used before it is decoded."""
    tiles = getattr(image, "tile", [])
    tile = str(tiles[0][3]) if tiles else ""
    if ";16" in tile and not _is_deep(image):
        raise MalformedError("16 bits for each colour, of which 8 would be lost: save it grey, or with 8 bits")
    if "I;32N" in tile:
        raise MalformedError("32 bits without a sign: save it with 16 bits, or in floating point")
    tags = getattr(image, "tag_v2", {})
    if _is_deep(image) and tags.get(_PHOTOMETRIC) == _WHITE_IS_ZERO:
        raise MalformedError("white is zero in it, so it would be read inverted: save it with black as zero")
    width = 8 if _is_deep(image) else 2 * len(MODES[3])
    require_free(
        held + width * image.width * image.height * int(getattr(image, "n_frames", 1)), "it and the images before"
    )


def _of_arrays(frames: np.ndarray, rescaled: bool, form: str, layout: Layout, group: str = "") -> Picture:
    """A picture of frames [F, H, W], or [F, H, W, 3] of colour, through the window where there is one."""
    from PIL import Image

    kind = str(frames.dtype) if frames.dtype in (np.uint8, np.uint16) else "integer"
    kind = "rescaled" if rescaled else "float" if frames.dtype.kind == "f" else kind
    if layout.window and frames.ndim == 3:
        frames, kind = windowed(frames, *layout.window_ends), "float"
    if kind == "integer" and frames.dtype.itemsize <= 4 and frames.dtype != np.uint32:
        frames = frames.astype(np.int32)
    elif frames.dtype not in (np.uint8, np.uint16):
        frames = frames.astype(np.float32)
    return Picture([Image.fromarray(np.ascontiguousarray(frame)) for frame in frames], kind, form, group=group)


def windowed(values: np.ndarray, centre: float, width: float) -> np.ndarray:
    """Values through a window as DICOM defines it (PS3.3, C.11.2.1.2): float32 from 0 below it to 1 above it."""
    made = (values.astype(np.float64) - (centre - 0.5)) / (width - 1) + 0.5
    return np.clip(made, 0, 1).astype(np.float32)
