"""Folders of images for tests of readers, and what is said of data that are refused."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.errors import DataError

IMAGES = np.random.default_rng(0).integers(0, 256, (6, 8, 6), dtype=np.uint8)
NAMES = ["cat", "cat", "cat", "dog", "dog", "dog"]


def folder(root: Path, images: np.ndarray = IMAGES) -> Path:
    for i, (image, name) in enumerate(zip(images, NAMES, strict=True)):
        (root / name).mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(root / name / f"{i}.png")
    return root


def refused(path: Path, **options: object) -> str:
    with pytest.raises(DataError) as caught:
        read_samples(path, **options)  # type: ignore[arg-type]
    return str(caught.value)
