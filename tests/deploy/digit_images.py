"""Sites' own data for a test: handwritten digits as PNG files in a folder per class."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

__all__ = ["write_digits"]


def write_digits(folder: Path, classes: Iterable[int], per_class: int, first: int = 0) -> Path:
    """Write `per_class` images of each class, from the `first` on, to ``folder/digit-C``; return the folder."""
    digits = load_digits()
    for digit in classes:
        target = folder / f"digit-{digit}"
        target.mkdir(parents=True)
        for index in np.flatnonzero(digits.target == digit)[first : first + per_class]:
            pixels = (digits.images[index] * (255 / 16)).astype(np.uint8)
            Image.fromarray(pixels).save(target / f"{index:04}.png")
    return folder
