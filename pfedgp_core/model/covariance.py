"""A covariance of the features within the classes, which travels behind the values of the shared model in one vector.

Values above the diagonal travel once.
"""

import numpy as np
import torch
from torch import Tensor

__all__ = ["covariance_of", "shared_part", "triangle_of"]


def shared_part(vector: np.ndarray, width: int) -> np.ndarray:
    """A view of the shared model's values, for features of so many numbers; empty where the vector is too short."""
    return vector[: max(0, len(vector) - width * (width + 1) // 2)]


def triangle_of(vector: np.ndarray, width: int) -> np.ndarray:
    """A view of the covariance's values, [width (width + 1) / 2]."""
    return vector[len(shared_part(vector, width)) :]


def covariance_of(vector: np.ndarray, width: int) -> Tensor:
    """The covariance [width, width], as it came."""
    half = torch.zeros(width, width)
    half[np.triu_indices(width)] = torch.from_numpy(triangle_of(vector, width).copy())
    return half + half.triu(1).T
