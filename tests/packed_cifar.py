"""Small files of packed JPEG images, in the form of CIFAR-10."""

import io
from pathlib import Path

import numpy as np
from PIL import Image

CLASSES = np.array([f"kind{i}" for i in range(10)])


def jpeg(rng: np.random.Generator, size: int = 32) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(rng.integers(0, 256, (size, size, 3), dtype=np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


def write_packed(path: Path, per_class: tuple[int, int] = (10, 2), size: int = 32, **changes: np.ndarray) -> Path:
    rng = np.random.default_rng(0)
    arrays = {"classes": CLASSES}
    for part, n in zip(("train", "test"), per_class, strict=True):
        files = [jpeg(rng, size) for _ in range(10 * n)]
        arrays[f"jpeg_{part}"] = np.frombuffer(b"".join(files), dtype=np.uint8)
        arrays[f"offsets_{part}"] = np.cumsum([0] + [len(f) for f in files]).astype(np.uint32)
        arrays[f"y_{part}"] = np.repeat(np.arange(10), n).astype(np.uint8)
    np.savez(path, **(arrays | changes))
    return path
