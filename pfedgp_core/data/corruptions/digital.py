"""What happens to an image in a file or a lens: coarse pixels, JPEG, elastic distortion.

An image is float64 [H, W, C] on the scale 0..1, with one or three channels.
"""

import io

import numpy as np
from PIL import Image
from scipy import ndimage

__all__ = ["elastic_transform", "jpeg_compression", "pixelate"]


def pixelate(x: np.ndarray, rng: np.random.Generator, factor: float) -> np.ndarray:
    """Shrink each side by the factor, averaging, and enlarge by the nearest pixel.

    CIFAR-10-C names Pillow's box filter for the second step too, which enlarges by the nearest pixel as well.
    """
    height, width = x.shape[:2]
    small = (max(1, int(width * factor)), max(1, int(height * factor)))
    shrunk = _picture(x).resize(small, Image.Resampling.BOX)
    return _values(shrunk.resize((width, height), Image.Resampling.NEAREST))


def jpeg_compression(x: np.ndarray, rng: np.random.Generator, quality: float) -> np.ndarray:
    """Write as JPEG of this quality, and read."""
    file = io.BytesIO()
    _picture(x).save(file, "JPEG", quality=int(quality))
    with Image.open(file) as picture:
        return _values(picture)


def elastic_transform(
    x: np.ndarray, rng: np.random.Generator, shift: float, smoothing: float, corners: float
) -> np.ndarray:
    """Bend the image, and before it skew it.

    Parameters
    ----------
    shift : float
        Largest shift of a pixel before it is smoothed, as a share of the side.
    smoothing : float
        Deviation of the Gaussian that smooths the shifts, as a share of the side.
    corners : float
        Largest shift of three points about the centre by an affine map, as a share of the side.
    """
    height, width = x.shape[:2]
    side = height
    y, columns = np.mgrid[:height, :width].astype(np.float64)
    if corners:
        matrix, offset = _affine(height, width, corners * side, rng)
        y, columns = (matrix[i, 0] * y + matrix[i, 1] * columns + offset[i] for i in (0, 1))
        x = np.stack([_sampled(channel, y, columns, "mirror") for channel in np.moveaxis(x, 2, 0)], axis=2)
        y, columns = np.mgrid[:height, :width].astype(np.float64)
    if not shift:
        return x
    down, right = rng.uniform(-shift * side, shift * side, (2, height, width))
    if smoothing:
        down, right = (
            ndimage.gaussian_filter(d, smoothing * side, mode="reflect", truncate=3.0) for d in (down, right)
        )
    return np.stack(
        [_sampled(channel, y + down, columns + right, "reflect") for channel in np.moveaxis(x, 2, 0)], axis=2
    )


def _affine(height: int, width: int, reach: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The map from places of the result to places of the source that moves three points by up to `reach` pixels."""
    middle, third = np.array([height // 2, width // 2], np.float64), max(1, height // 3)
    before = middle + third * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]])
    after = before + rng.uniform(-reach, reach, before.shape)
    solution = np.linalg.solve(np.hstack([after, np.ones((3, 1))]), before)
    return solution[:2].T, solution[2]


def _sampled(channel: np.ndarray, y: np.ndarray, x: np.ndarray, mode: str) -> np.ndarray:
    values: np.ndarray = ndimage.map_coordinates(channel, (y, x), order=1, mode=mode)
    return values


def _picture(x: np.ndarray) -> Image.Image:
    levels = np.rint(np.clip(x, 0.0, 1.0) * 255.0).astype(np.uint8)
    return Image.fromarray(levels[:, :, 0] if x.shape[2] == 1 else levels)


def _values(picture: Image.Image) -> np.ndarray:
    values = np.asarray(picture, dtype=np.float64) / 255.0
    return values[:, :, None] if values.ndim == 2 else values
