"""CIFAR-like images in one .npz file of concatenated JPEG bytes.

The file holds, for each part ``train`` and ``test``: ``jpeg_PART`` (uint8, all JPEG files end to end), ``offsets_PART``
(unsigned, one more than there are images; image i is bytes offsets[i]..offsets[i+1]) and ``y_PART`` (class ids); and
once ``classes`` (the class names).
"""

import hashlib
from pathlib import Path

import numpy as np

from pfedgp_core.errors import DataError, MissingFileError, UnreadableFileError
from pfedgp_core.files.arrays import read_npz
from pfedgp_core.files.image import parse_image
from pfedgp_core.files.regular import MalformedError

__all__ = ["PackedJpeg"]

PARTS = ("train", "test")
_DECODER = "v1"  # part of the cache key; change it with the decoding


class PackedJpeg:
    """A packed file: labels and class names are read at once, images when they are asked for.

    Parameters
    ----------
    path : Path
        The .npz file.

    Attributes
    ----------
    labels : dict of str to int64 array [N]
        Class ids of the parts ``train`` and ``test``.
    class_names : tuple of str

    Raises
    ------
    DataError
        The file is missing, or is no packed file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        arrays = _read(path, [f"{kind}_{part}" for part in PARTS for kind in ("y", "offsets")] + ["classes"])
        self.labels = {part: arrays[f"y_{part}"].astype(np.int64) for part in PARTS}
        self.class_names = tuple(str(name) for name in arrays["classes"])
        for part in PARTS:
            if arrays[f"offsets_{part}"].shape != (len(self.labels[part]) + 1,):
                raise DataError(
                    f"{path} has {arrays[f'offsets_{part}'].size} {part} offsets for {len(self.labels[part])} labels, "
                    f"where one more than labels is needed; make the file again."
                )

    def key(self, size: int) -> str:
        """Return a name for the decoded images that changes with the content of the file."""
        with Path(self.path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        return f"{_DECODER}-{size}-{digest[:32]}"

    def decode(self, part: str, rows: np.ndarray, size: int) -> np.ndarray:
        """Decode some images of one part.

        Parameters
        ----------
        part : str
            ``train`` or ``test``.
        rows : int array [N]
            Which images.
        size : int
            Height and width that every image must have.

        Returns
        -------
        numpy.ndarray, uint8 [N, 3, size, size]

        Raises
        ------
        DataError
            The file changed or is damaged, an image cannot be decoded or has another size, or Pillow is missing.
        """
        arrays = _read(self.path, [f"jpeg_{part}", f"offsets_{part}"])
        raw, offsets = arrays[f"jpeg_{part}"].tobytes(), arrays[f"offsets_{part}"].astype(np.int64)
        if offsets[0] != 0 or offsets[-1] != len(raw) or (np.diff(offsets) <= 0).any():
            raise DataError(f"The {part} offsets in {self.path} do not fit its {len(raw)} bytes; make the file again.")
        images = np.empty((len(rows), 3, size, size), dtype=np.uint8)
        for place, i in enumerate(rows):
            try:
                pixels = np.asarray(parse_image(raw[offsets[i] : offsets[i + 1]]).convert("RGB"))
            except (MalformedError, ValueError) as error:
                raise DataError(
                    f"The {part} image {i} in {self.path} cannot be decoded ({error}); copy the file again."
                ) from None
            if pixels.shape != (size, size, 3):
                raise DataError(
                    f"The {part} image {i} in {self.path} is {pixels.shape[1]}x{pixels.shape[0]}; "
                    f"give images of {size}x{size}."
                )
            images[place] = pixels.transpose(2, 0, 1)
        return images


def _read(path: Path, names: list[str]) -> dict[str, np.ndarray]:
    try:
        arrays = read_npz(path, names).values
    except MissingFileError:
        raise DataError(f"There is no file {path}; set data-root to the packed .npz file.") from None
    except UnreadableFileError as error:
        raise DataError(f"{path} is not a file of packed JPEG images ({error.reason}); copy it again.") from error
    if missing := [name for name in names if name not in arrays]:
        raise DataError(f"{path} is not a file of packed JPEG images (it has no {missing[0]}); copy it again.")
    return arrays
