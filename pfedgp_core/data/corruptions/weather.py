"""Snow, frost, fog, and drops or mud on the lens.

An image is float64 [H, W, 3] on the scale 0..1; results may leave the scale, and the caller clips them.
"""

import numpy as np
from scipy import ndimage

from pfedgp_core.data.corruptions.blurs import moved, zoomed
from pfedgp_core.data.corruptions.colour import LUMINANCE
from pfedgp_core.data.corruptions.textures import ice, plasma

__all__ = ["fog", "frost", "snow", "spatter"]

_WATER = np.array([175.0, 238.0, 238.0]) / 255.0
_MUD = np.array([63.0, 42.0, 20.0]) / 255.0
_DEEPEST = 20.0  # pixels from a drop's edge at which it is as clear as anywhere


def snow(
    x: np.ndarray,
    rng: np.random.Generator,
    mean: float,
    deviation: float,
    zoom: float,
    threshold: float,
    radius: int,
    blur: float,
    kept: float,
) -> np.ndarray:
    """Flakes in motion over a whitened image.

    Parameters
    ----------
    mean, deviation, threshold : float
        Flakes are where normal noise is above the threshold.
    zoom : float
        Enlarges them.
    radius, blur : float
        Of their motion, see `moved`; they fall within 45 degrees of one direction.
    kept : float
        Share of the image; the rest is a brighter grey one.
    """
    flakes = zoomed(rng.normal(mean, deviation, x.shape[:2]), zoom)
    flakes = np.clip(np.where(flakes < threshold, 0.0, flakes), 0.0, 1.0)
    flakes = moved(flakes, radius, blur, rng.uniform(-135.0, -45.0))
    pale = np.maximum(x, (x @ LUMINANCE)[:, :, None] * 1.5 + 0.5)
    snowy: np.ndarray = kept * x + (1 - kept) * pale + (flakes + flakes[::-1, ::-1])[:, :, None]
    return snowy


def frost(x: np.ndarray, rng: np.random.Generator, kept: float, added: float) -> np.ndarray:
    """`kept` of the image and `added` of an ice texture; see `ice`."""
    height, width = x.shape[:2]
    frosted: np.ndarray = kept * x + added * ice(height, width, rng)
    return frosted


def fog(x: np.ndarray, rng: np.random.Generator, weight: float, decay: float) -> np.ndarray:
    """Add a plasma cloud and scale back to the former maximum."""
    highest, (height, width) = x.max(), x.shape[:2]
    foggy: np.ndarray = (x + weight * plasma(height, width, decay, rng)[:, :, None]) * highest / (highest + weight)
    return foggy


def spatter(
    x: np.ndarray,
    rng: np.random.Generator,
    mean: float,
    deviation: float,
    size: float,
    threshold: float,
    strength: float,
    mud: int,
) -> np.ndarray:
    """Drops of water, or of mud, where smoothed normal noise is above the threshold.

    Parameters
    ----------
    mean, deviation, size : float
        Of the noise, and of the Gaussian that smooths it.
    threshold : float
    strength : float
        Of water at its brightest; of mud the deviation of the Gaussian that rounds it.
    mud : {0, 1}
    """
    liquid = ndimage.gaussian_filter(rng.normal(mean, deviation, x.shape[:2]), size, mode="nearest")
    wet = liquid > threshold
    if mud:
        cover = ndimage.gaussian_filter(wet.astype(np.float64), strength, mode="nearest")
        cover = np.where(cover < 0.8, 0.0, cover)[:, :, None]
        muddy: np.ndarray = x * (1 - cover) + _MUD * cover
        return muddy
    if not wet.any():
        return x
    shine = np.where(wet, liquid, 0.0) * _relief(wet)
    wetted: np.ndarray = x + strength * shine[:, :, None] / max(shine.max(), 1e-12) * _WATER
    return wetted


def _relief(wet: np.ndarray) -> np.ndarray:
    """How bright water looks, from 0 to 1: by the slope of its surface, lit from one corner."""
    edge = wet & ~ndimage.binary_erosion(wet, border_value=1)
    depth = ndimage.distance_transform_edt(~edge) if edge.any() else np.full(wet.shape, _DEEPEST)
    depth = ndimage.uniform_filter(np.minimum(depth, _DEEPEST), 3, mode="mirror")
    # As in an image whose histogram was equalised: only the order of the depths counts.
    _, place, counts = np.unique(depth, return_inverse=True, return_counts=True)
    level = (np.cumsum(counts) / depth.size)[place.reshape(depth.shape)]
    lit = ndimage.correlate(level, np.array([[-2.0, -1.0, 0.0], [-1.0, 1.0, 1.0], [0.0, 1.0, 2.0]]), mode="mirror")
    relief: np.ndarray = ndimage.uniform_filter(np.clip(lit, 0.0, 1.0), 3, mode="mirror")
    return relief
