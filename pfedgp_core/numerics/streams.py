"""Explicit randomness: a stream is named by (seed, path) and independent of every other stream.

Nothing in the product draws from a global generator. A stream for a tree node is derived from
(run seed, round, client name, node), so results do not depend on which process computes what, or in which order.
"""

import hashlib
import operator
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.numerics.polya_gamma import sample_pg, sample_pg_torch

__all__ = ["Stream"]


class Stream:
    """Reproducible random numbers for one purpose, on one device.

    Parameters
    ----------
    seed : int
        Seed of the run.
    path : int or str
        What the numbers are for, for example ``("train", round, client_name, node)``.
    device : torch.device or str
        Where the tensors are drawn. On a CPU all of them come from the numpy generator, because torch's CPU generator
        keeps 32 bits of a seed only, so that two of 100 000 streams would coincide. On any other device they come
        from the torch generator, and a Gibbs sweep makes no round trip to the host.

    Raises
    ------
    TypeError
        A part of the path is neither an integer nor a text.
    """

    def __init__(self, seed: int, *path: int | str, device: torch.device | str = "cpu") -> None:
        self.seed = operator.index(seed)
        # numpy integers name the same stream as Python's.
        self.path = tuple(part if isinstance(part, str) else operator.index(part) for part in path)
        self.device = torch.device(device)

    def __repr__(self) -> str:
        return f"Stream(seed={self.seed}, path={self.path}, device={str(self.device)!r})"

    def child(self, *path: int | str) -> "Stream":
        """Return the stream of a more specific purpose; independent of this one."""
        return Stream(self.seed, *self.path, *path, device=self.device)

    @cached_property
    def _entropy(self) -> int:
        # repr keeps 1 and "1" apart; the digest makes paths of any length and type equally good seeds.
        return int.from_bytes(hashlib.sha256(repr((self.seed, self.path)).encode()).digest()[:16], "big")

    @cached_property
    def numpy(self) -> np.random.Generator:
        """The numpy generator of this stream (advances with use)."""
        return np.random.default_rng(self._entropy)

    @cached_property
    def torch_generator(self) -> torch.Generator:
        """The torch generator of this stream on its device (advances with use); on a CPU seeded by 32 bits only."""
        return torch.Generator(self.device).manual_seed(self._entropy & 0x7FFF_FFFF_FFFF_FFFF)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
        """Standard normal draws of the given shape."""
        if self.device.type == "cpu":
            numpy_dtype = np.float64 if dtype == torch.float64 else np.float32
            return torch.from_numpy(np.asarray(self.numpy.standard_normal(shape, dtype=numpy_dtype))).to(dtype)
        return torch.randn(*shape, generator=self.torch_generator, dtype=dtype, device=self.device)

    def normal_pair(self, *shape: int, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor]:
        """What two calls of `normal` give on a CPU, in one."""
        first, second = self.normal(2, *shape, dtype=dtype)
        return first, second

    def polya_gamma(self, z: Tensor) -> Tensor:
        """Draw PG(1, z) elementwise.

        Where z is NaN or infinite, a CPU stream raises NonFiniteError and any other returns NaN, for the caller to
        find after the last sweep.
        """
        if self.device.type == "cpu":
            return sample_pg(z, self.numpy)
        return sample_pg_torch(z, self.torch_generator)

    def permutation(self, n: int) -> Tensor:
        """A random permutation of 0..n-1, int64 on the stream's device."""
        if self.device.type == "cpu":
            return torch.from_numpy(self.numpy.permutation(n))
        return torch.randperm(n, generator=self.torch_generator, device=self.device)
