"""Random textures: a plasma cloud for fog, and ice crystals for frost."""

import numpy as np
from scipy import ndimage
from scipy.spatial import cKDTree

__all__ = ["ice", "plasma"]

_ROUGHNESS = 100.0  # of the first step of a plasma; its level is scaled away, and what counts is how it decays


def plasma(height: int, width: int, decay: float, rng: np.random.Generator) -> np.ndarray:
    """A plasma cloud by the diamond-square algorithm, float64 [H, W] from 0 to 1.

    Parameters
    ----------
    height, width : int
    decay : float
        The deviations of a step are 1 / decay**2 of those of the step before; more is smoother.
    rng : Generator
    """
    side = 1
    while side < max(height, width):
        side *= 2
    cloud = np.zeros((side, side))
    amplitude, step = _ROUGHNESS, side
    while step >= 2:
        half = step // 2
        corners = cloud[::step, ::step]
        across = corners + np.roll(corners, -1, axis=0)
        middle = _wobbling(across + np.roll(across, -1, axis=1), amplitude, rng)
        cloud[half::step, half::step] = middle
        above = middle + np.roll(middle, 1, axis=0)
        cloud[::step, half::step] = _wobbling(above + corners + np.roll(corners, -1, axis=1), amplitude, rng)
        beside = middle + np.roll(middle, 1, axis=1)
        cloud[half::step, ::step] = _wobbling(beside + corners + np.roll(corners, -1, axis=0), amplitude, rng)
        step, amplitude = half, amplitude / decay**2
    cloud -= cloud.min()
    highest = cloud.max()
    return (cloud / highest if highest > 0 else cloud)[:height, :width]


def ice(height: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Ice crystals on glass, float64 [H, W, 3] on the scale 0..1, bluish white on dark.

    Needles run along the borders between random cells, and their brightness varies as a plasma does. ImageNet-C lays
    one of six photographs of frosted windows over an image; this stands in for them.
    """
    cells = max(4, height * width // 40)
    seeds = rng.random((cells, 2)) * (height, width)
    stretch = rng.uniform(0.4, 1.0, 2)  # needles have a direction
    y, x = np.mgrid[:height, :width]
    points = np.stack([y.ravel(), x.ravel()], axis=1) + 0.5
    distance, _ = cKDTree(seeds * stretch).query(points * stretch, k=2)
    ridge = np.exp(-1.5 * (distance[:, 1] - distance[:, 0])).reshape(height, width)
    level = 0.25 + 0.75 * ridge * (0.4 + 0.6 * plasma(height, width, 1.3, rng))
    grain = ndimage.gaussian_filter(rng.normal(0.0, 0.08, (height, width)), 0.5)
    tint = np.array([0.88, 0.95, 1.0])
    frosted: np.ndarray = np.clip((level + grain)[:, :, None] * tint, 0.0, 1.0)
    return frosted


def _wobbling(total: np.ndarray, amplitude: float, rng: np.random.Generator) -> np.ndarray:
    """The mean of four neighbours and a uniform deviation."""
    wobbling: np.ndarray = total / 4 + rng.uniform(-amplitude, amplitude, total.shape)
    return wobbling
