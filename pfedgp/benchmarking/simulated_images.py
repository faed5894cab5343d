"""A file of images in the form of CIFAR-10, for federations of any size: what is in the images costs nothing."""

import io
from pathlib import Path

import numpy as np

__all__ = ["write_images"]

CLASSES = 10
TRAIN, TEST = 5000, 1000  # images of a class, as in CIFAR-10
DIFFERENT = 300  # images; the others are copies of these


def write_images(path: Path, seed: int = 0) -> None:
    """Write 50 000 training and 10 000 test images of 3 x 32 x 32, equally many of each class, as packed JPEGs."""
    from PIL import Image

    generator = np.random.default_rng(seed)
    files = []
    for _ in range(DIFFERENT):
        buffer = io.BytesIO()
        Image.fromarray(generator.integers(0, 256, (32, 32, 3), dtype=np.uint8)).save(buffer, "JPEG")
        files.append(buffer.getvalue())
    arrays = {"classes": np.array([f"kind{i}" for i in range(CLASSES)])}
    for part, count in (("train", TRAIN), ("test", TEST)):
        chosen = [files[i % DIFFERENT] for i in range(CLASSES * count)]
        arrays[f"jpeg_{part}"] = np.frombuffer(b"".join(chosen), dtype=np.uint8)
        arrays[f"offsets_{part}"] = np.cumsum([0] + [len(f) for f in chosen]).astype(np.uint32)
        arrays[f"y_{part}"] = np.repeat(np.arange(CLASSES), count).astype(np.uint8)
    np.savez(path, **arrays)  # type: ignore[arg-type]
