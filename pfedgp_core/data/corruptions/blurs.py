"""Blurs: Gaussian, of frosted glass, out of focus, by motion, by zooming.

An image is float64 [H, W, C] on the scale 0..1. Beyond its border it goes on with its border's values, or is mirrored.
"""

from functools import lru_cache

import numpy as np
from scipy import ndimage

__all__ = ["defocus_blur", "gaussian_blur", "glass_blur", "motion_blur", "moved", "zoom_blur", "zoomed"]


def gaussian_blur(x: np.ndarray, rng: np.random.Generator, deviation: float) -> np.ndarray:
    """Blur with a Gaussian of this deviation."""
    return _gaussian(x, deviation)


def glass_blur(x: np.ndarray, rng: np.random.Generator, deviation: float, reach: int, times: int) -> np.ndarray:
    """Blur, swap each pixel with a random one within `reach`, so many times over, and blur again."""
    height, width = x.shape[:2]
    rows, columns = range(height - reach, reach, -1), range(width - reach, reach, -1)
    shifts = rng.integers(-reach, reach, size=(times, len(rows), len(columns), 2)).tolist()
    place = list(range(height * width))
    for sweep in shifts:
        for row, of_row in zip(rows, sweep, strict=True):
            for column, (down, right) in zip(columns, of_row, strict=True):
                here, there = row * width + column, (row + down) * width + column + right
                place[here], place[there] = place[there], place[here]
    mixed = _gaussian(x, deviation).reshape(height * width, -1)[place].reshape(x.shape)
    return _gaussian(mixed, deviation)


def defocus_blur(x: np.ndarray, rng: np.random.Generator, radius: float, softening: float) -> np.ndarray:
    """Blur with a disk of this radius, whose edge is softened by a Gaussian of the deviation `softening`."""
    blurred: np.ndarray = ndimage.correlate(x, _disk(radius, softening)[:, :, None], mode="mirror")
    return blurred


def motion_blur(x: np.ndarray, rng: np.random.Generator, radius: int, deviation: float) -> np.ndarray:
    """Blur along a line of 2 * `radius` + 1 pixels at an angle of -45 to 45 degrees; see `moved`."""
    return moved(x, radius, deviation, rng.uniform(-45.0, 45.0))


def moved(x: np.ndarray, radius: int, deviation: float, degrees: float) -> np.ndarray:
    """Average the image over its ways along a line, weighted by one half of a Gaussian.

    Parameters
    ----------
    x : array [H, W] or [H, W, C]
    radius : int
        The image moves by 0 to 2 * radius pixels.
    deviation : float
        Of the Gaussian, in pixels.
    degrees : float
        Direction: 0 is up, 90 to the left.
    """
    steps = np.arange(2 * radius + 1)
    weights = np.exp(-0.5 * (steps / deviation) ** 2)
    weights /= weights.sum()
    angle = np.deg2rad(degrees)
    down, right = (-np.ceil(steps * part - 0.5).astype(int) for part in (np.cos(angle), np.sin(angle)))
    height, width = x.shape[:2]
    blurred = np.zeros_like(x)
    for weight, dy, dx in zip(weights, down, right, strict=True):
        rows = np.clip(np.arange(height) - dy, 0, height - 1)
        columns = np.clip(np.arange(width) - dx, 0, width - 1)
        blurred += weight * x[rows[:, None], columns]
    return blurred


def zoom_blur(x: np.ndarray, rng: np.random.Generator, end: float, step: float) -> np.ndarray:
    """Average the image and its enlargements about the centre, by 1, 1 + `step` and so on up to `end`."""
    factors = np.arange(1.0, end, step)
    total = x.copy()
    for factor in factors:
        total += zoomed(x, float(factor))
    return total / (len(factors) + 1)


def zoomed(x: np.ndarray, factor: float) -> np.ndarray:
    """Enlarge about the centre to the same size, by linear interpolation; [H, W] or [H, W, C]."""
    rows, columns = (_enlarging(side, factor) for side in x.shape[:2])
    enlarged: np.ndarray = np.tensordot(columns, np.tensordot(rows, x, axes=(1, 0)), axes=(1, 1)).swapaxes(0, 1)
    return enlarged


def _gaussian(x: np.ndarray, deviation: float) -> np.ndarray:
    blurred: np.ndarray = ndimage.gaussian_filter(x, (deviation, deviation, 0.0), mode="nearest")
    return blurred


@lru_cache(maxsize=256)
def _enlarging(side: int, factor: float) -> np.ndarray:
    """The matrix [side, side] that enlarges a line of pixels about its centre."""
    centre = (side - 1) / 2
    source = centre + (np.arange(side) - centre) / factor
    left = np.clip(np.floor(source).astype(int), 0, max(side - 2, 0))
    matrix = np.zeros((side, side))
    matrix[np.arange(side), left] += 1.0 - (source - left)
    matrix[np.arange(side), np.minimum(left + 1, side - 1)] += source - left
    return matrix


@lru_cache(maxsize=16)
def _disk(radius: float, softening: float) -> np.ndarray:
    """Weights [k, k] that sum to 1: a disk whose edge a Gaussian of 3 or, for large disks, 5 pixels has softened."""
    reach, taps = (8, 1) if radius <= 8 else (int(np.ceil(radius)), 2)
    y, x = np.mgrid[-reach : reach + 1, -reach : reach + 1]
    disk = (x**2 + y**2 <= radius**2).astype(np.float64)
    line = np.exp(-0.5 * (np.arange(-taps, taps + 1) / softening) ** 2)
    line /= line.sum()
    for axis in (0, 1):
        disk = ndimage.correlate1d(disk, line, axis=axis, mode="mirror")
    weights: np.ndarray = disk / disk.sum()
    return weights
