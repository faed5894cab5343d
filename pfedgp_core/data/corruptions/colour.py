"""Changes of brightness, contrast and saturation.

An image is float64 [H, W, C] on the scale 0..1. Brightness is the value V of HSV, the largest of the three colours.
"""

import numpy as np

__all__ = ["LUMINANCE", "brightness", "contrast", "saturate"]

LUMINANCE = np.array([0.299, 0.587, 0.114])  # weights of red, green and blue in a grey level


def brightness(x: np.ndarray, rng: np.random.Generator, added: float) -> np.ndarray:
    """Add to the value of HSV, at most up to 1; hue and saturation stay."""
    value = x.max(axis=2, keepdims=True)
    brighter = np.minimum(value + added, 1.0)
    made: np.ndarray = np.where(value > 0, x * (brighter / np.where(value > 0, value, 1.0)), brighter)
    return made


def contrast(x: np.ndarray, rng: np.random.Generator, factor: float) -> np.ndarray:
    """Shrink the distance of each colour from its mean over the image."""
    mean = x.mean(axis=(0, 1), keepdims=True)
    shrunk: np.ndarray = (x - mean) * factor + mean
    return shrunk


def saturate(x: np.ndarray, rng: np.random.Generator, factor: float, added: float) -> np.ndarray:
    """Change the saturation S of HSV to ``S * factor + added``, between 0 and 1; hue and value stay.

    A grey pixel has no hue; where it gets a saturation it becomes reddish, as HSV's hue 0.
    """
    value, lowest = x.max(axis=2, keepdims=True), x.min(axis=2, keepdims=True)
    spread = value - lowest
    saturation = np.divide(spread, value, out=np.zeros_like(value), where=value > 0)
    wanted = np.clip(saturation * factor + added, 0.0, 1.0)
    # How far each colour lies below the value, in units of the largest such distance.
    below = np.where(spread > 0, (value - x) / np.where(spread > 0, spread, 1.0), np.array([0.0, 1.0, 1.0]))
    changed: np.ndarray = value * (1.0 - wanted * below)
    return changed
