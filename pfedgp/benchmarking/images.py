"""Colour images of 32 x 32 pixels in any number, from scikit-learn's 8 x 8 digits, all different.

Every image is a digit that was turned, scaled, shifted, coloured and covered with noise, just so much that the kernel
matrix of a trained network has as long a spectrum as on CIFAR-10 (`warm_start.spectrum`): the cost of the iterative
solvers depends on it.
"""

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from pfedgp_core.data.datasets import Split, TensorSplit, load_dataset, normalised
from pfedgp_core.numerics.streams import Stream

__all__ = ["INPUT_SHAPE", "digit_images", "easily_confused"]

INPUT_SHAPE = (3, 32, 32)
_CHUNK = 1024  # images made at once, so that nothing but the result grows with their number
_RANGE = 1.5  # values from -1.5 to 1.5 become bytes; there are hardly any others
_CONFUSED = (3, 8, 5, 9, 4, 7, 1, 2, 6, 0)  # hard pairs first


def easily_confused(count: int) -> tuple[int, ...]:
    """`count` of the ten classes, those that are hard to tell apart first."""
    return _CONFUSED[:count]


def digit_images(classes: tuple[int, ...], count: int, stream: Stream, split: str = "train") -> TensorSplit:
    """`count` normalised images, as many of every class as of any other (give or take one), in random order.

    Parameters
    ----------
    classes : tuple of int
        Digits.
    count : int
    stream : Stream
    split : {"train", "validation", "test"}
        Which of the original digits are varied; those of different splits are disjoint.

    Returns
    -------
    TensorSplit
        Inputs [count, 3, 32, 32], made from bytes as a client's are, the only thing of that size in memory; class ids
        0..9.
    """
    source = load_dataset("digits").splits()[split]
    originals = torch.from_numpy(source.inputs).float() / 240.0
    rng = stream.child("choice").numpy
    labels = rng.permutation(np.resize(np.asarray(classes, dtype=np.int64), count))
    rows = np.empty(count, dtype=np.int64)
    for c in classes:
        mine = labels == c
        rows[mine] = rng.choice(np.flatnonzero(source.labels == c), size=int(mine.sum()))
    pixels = np.empty((count, *INPUT_SHAPE), dtype=np.uint8)
    generator = stream.child("look").torch_generator
    for start in range(0, count, _CHUNK):
        chosen = originals[rows[start : start + _CHUNK]]
        shades = _varied(chosen, generator).add_(_RANGE).mul_(255 / (2 * _RANGE)).round_().clamp_(0, 255)
        pixels[start : start + len(chosen)] = shades.numpy()
    middle, unit = np.full(3, 0.5, np.float32), np.full(3, 1 / (2 * _RANGE), np.float32)
    return normalised(Split(pixels, labels), middle, unit)


def _varied(digits: Tensor, generator: torch.Generator) -> Tensor:
    """Images [n, 3, 32, 32] of about zero mean and unit spread from digits [n, 1, 8, 8] in 0..1."""
    n = len(digits)
    angle = 0.05 * torch.randn(n, generator=generator)
    scale = 1.1 + 0.05 * torch.randn(n, generator=generator).clamp(-2, 2)
    place = torch.empty(n, 2, 3)
    place[:, 0, 0] = place[:, 1, 1] = angle.cos() * scale
    place[:, 1, 0] = angle.sin() * scale
    place[:, 0, 1] = -place[:, 1, 0]
    place[:, :, 2] = 0.04 * torch.randn(n, 2, generator=generator)
    grid = functional.affine_grid(place, [n, 1, 32, 32], align_corners=False)
    drawn = functional.grid_sample(digits, grid, align_corners=False)
    ink = 0.5 + 0.5 * torch.rand(n, 3, 1, 1, generator=generator)
    paper = 0.5 * torch.rand(n, 3, 1, 1, generator=generator)
    blotches = functional.interpolate(torch.randn(n, 3, 6, 6, generator=generator), size=32, mode="bilinear")
    grain = torch.randn(n, *INPUT_SHAPE, generator=generator)
    return grain.mul_(0.05).add_(blotches, alpha=0.05).add_(paper + (ink - paper) * drawn, alpha=2.0).sub_(1.0)
