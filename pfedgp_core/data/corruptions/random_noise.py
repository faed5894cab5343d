"""Noise on each value of an image by itself: Gaussian, shot, impulse and speckle noise.

An image is float64 [H, W, C] on the scale 0..1; results may leave the scale, and the caller clips them.
"""

import numpy as np

__all__ = ["gaussian_noise", "impulse_noise", "shot_noise", "speckle_noise"]


def gaussian_noise(x: np.ndarray, rng: np.random.Generator, deviation: float) -> np.ndarray:
    """Normal noise of one deviation everywhere, as of a sensor in poor light."""
    return x + rng.normal(0.0, deviation, x.shape)


def shot_noise(x: np.ndarray, rng: np.random.Generator, rate: float) -> np.ndarray:
    """Counts of photons, of which a white pixel expects `rate`."""
    return rng.poisson(x * rate) / rate


def impulse_noise(x: np.ndarray, rng: np.random.Generator, share: float) -> np.ndarray:
    """A share of all values becomes black or white, with equal probability."""
    draw = rng.random(x.shape)
    return np.where(draw < share, (draw < share / 2).astype(np.float64), x)


def speckle_noise(x: np.ndarray, rng: np.random.Generator, deviation: float) -> np.ndarray:
    """Normal noise in proportion to the value."""
    return x + x * rng.normal(0.0, deviation, x.shape)
