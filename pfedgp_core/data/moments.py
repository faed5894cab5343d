"""Mean and deviation of inputs, by which they are normalised; without torch, which takes seconds to load."""

import numpy as np

__all__ = ["divisors", "input_moments", "input_statistics"]

_ROWS = 4096  # images counted at a time


def input_statistics(inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation for ``normalised``, float32 [C] or [D]."""
    mean, std = input_moments(inputs)
    return mean.astype(np.float32), divisors(mean, std).astype(np.float32)


def divisors(mean: np.ndarray, std: np.ndarray) -> np.ndarray:
    """Return `std` with 1 for a constant channel or feature, which is then centred and not divided by zero."""
    constant = std <= 1e-7 * np.maximum(np.abs(mean), 1e-30)
    return np.where(constant, 1.0, std)


def input_moments(inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard deviation as they are, 0 where all is equal; float64 [C] or [D].

    Those of images of bytes are of their values scaled to [0, 1]; float32 images have the scale that they shall have.
    """
    if inputs.dtype == np.uint8:  # from the counts of grey levels: a large data set as floats would not fit in memory
        counts = np.zeros((inputs.shape[1], 256), np.int64)
        for start in range(0, len(inputs), _ROWS):
            for c, channel in enumerate(np.moveaxis(inputs[start : start + _ROWS], 1, 0)):
                counts[c] += np.bincount(channel.ravel(), minlength=256)
        share, level = counts / counts.sum(axis=1, keepdims=True), np.arange(256) / 255.0
        mean = share @ level
        std = np.sqrt((share * (level - mean[:, None]) ** 2).sum(axis=1))
    else:
        x = inputs.astype(np.float64)
        axes = (0, *range(2, x.ndim))
        mean, std = x.mean(axis=axes), x.std(axis=axes)
    return mean, std
