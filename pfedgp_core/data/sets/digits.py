"""scikit-learn's handwritten digits: 1797 grey images of 8x8 pixels in 10 classes, part of the package."""

import numpy as np

from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.samples import SPLIT_SEED, Dataset, Split, stratified_split
from pfedgp_core.numerics.streams import Stream

__all__ = ["digits"]


def digits(root: str, seed: int) -> Dataset:
    """Load the digits; `root` and `seed` are unused.

    60 % of each class is training data, 20 % validation, 20 % test: the same samples for every seed. The grey levels
    0..16 become 0..240, so that 15 counts on the scale 0..255 are one original level.
    """
    from sklearn.datasets import load_digits

    pixels, targets = load_digits(return_X_y=True)
    images = (pixels.reshape(-1, 1, 8, 8) * 15.0).astype(np.uint8)
    labels = targets.astype(np.int64)
    rows = stratified_split(labels, (0.6, 0.2, 0.2), Stream(SPLIT_SEED, "split", "digits"))
    train, validation, test = (Split(images[r], labels[r]) for r in rows)
    mean, std = input_statistics(train.inputs)
    return Dataset("digits", tuple("0123456789"), train, validation, test, mean, std, (1, 8, 8))
