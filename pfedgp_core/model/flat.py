"""Conversion between tensors and one flat vector: messages and kept states are one array for every model."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.errors import DataError

__all__ = ["fill", "flatten", "length"]


def length(tensors: Sequence[Tensor]) -> int:
    """Values in all tensors together."""
    return sum(t.numel() for t in tensors)


def flatten(tensors: Sequence[Tensor], dtype: torch.dtype = torch.float32) -> np.ndarray:
    """A copy of all values in the order of the tensors, [length], on the CPU."""
    if not tensors:
        return np.zeros(0, torch.empty(0, dtype=dtype).numpy().dtype)
    together = torch.cat([t.detach().reshape(-1).to(dtype) for t in tensors])
    flat: np.ndarray = together.cpu().numpy()
    return flat


def fill(tensors: Sequence[Tensor], vector: np.ndarray, what: str, remedy: str) -> None:
    """Overwrite the tensors with a vector's values.

    Parameters
    ----------
    tensors : sequence of Tensor
    vector : float array [length]
    what : str
        Names the vector in an error, for example ``The shared vector``.
    remedy : str
        What to do where its length is wrong.

    Raises
    ------
    DataError
        The vector has another length or holds non-finite values.
    """
    size = length(tensors)
    if vector.shape != (size,):
        raise DataError(f"{what} has {vector.size} values where this model has {size}: {remedy}")
    if not np.isfinite(vector).all():
        raise DataError(f"{what} holds non-finite values and is refused: restart from an earlier model.")
    source, start = torch.from_numpy(np.array(vector)), 0
    if tensors:
        source = source.to(tensors[0].device)
    with torch.no_grad():
        for t in tensors:
            t.copy_(source[start : start + t.numel()].view_as(t))
            start += t.numel()
