"""Full GPs of several tree nodes at once: padded to one size, so that a sweep of all is one call of each operation.

A padded point has prior variance 1, no covariance with any other and kappa = 0. It changes nothing at the others, and
no Polya-Gamma variable is drawn for it: omega is 0 there.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from pfedgp_core.gp import dense, gibbs
from pfedgp_core.gp.full import FullGP
from pfedgp_core.numerics.linalg import safe_cholesky
from pfedgp_core.numerics.streams import Stream

__all__ = ["PaddedGPs", "padding_groups"]

LARGEST_SHARE = 2.0  # sizes up to this ratio are padded to the larger one
SMALL = 12  # nodes up to this size go together whatever their ratio: their cost is that of the calls


class PaddedGPs(gibbs.LatentModel):
    """Full GPs of one kernel and jitter, sampled and predicted together.

    Parameters
    ----------
    gps : sequence of FullGP
        b of them; n is the size of the largest one.
    counters : Counter
        Receives the numerical recoveries.
    """

    def __init__(self, gps: Sequence[FullGP], counters: Counter[str]) -> None:
        self.kernel, self.jitter, self.counters = gps[0].kernel, gps[0].jitter, counters
        self.sizes = [len(gp.kappa) for gp in gps]
        self.inputs = pad_sequence([gp.inputs for gp in gps], batch_first=True)  # [b, n, d]
        self.kappa = pad_sequence([gp.kappa for gp in gps], batch_first=True)  # [b, n]
        self.real = _first(self.sizes, self.inputs)  # [b, n]
        gram = self.kernel.gram(self.inputs, self.jitter)
        unit = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
        self.gram = torch.where(self.real[:, :, None] & self.real[:, None, :], gram, unit)  # [b, n, n]

    @cached_property
    def _prior_factor(self) -> Tensor:
        return safe_cholesky(self.gram.detach(), self.counters)

    def draw_prior(self, chains: int, stream: Stream) -> Tensor:
        """f ~ N(0, K) of every node, [b, C, n]."""
        b, n = self.kappa.shape
        return stream.normal(b, chains, n, dtype=self.kappa.dtype) @ self._prior_factor.mT

    def draw_latents(self, omega: Tensor, stream: Stream) -> tuple[Tensor, Tensor]:
        """f ~ p(f | omega, y) and an independent draw of the prior, each [b, C, n]."""
        return dense.draw_latents(self.gram.detach(), self._prior_factor, omega, self.kappa, stream)

    def draw_omega(self, f: Tensor, stream: Stream) -> Tensor:
        """omega ~ PG(1, f) at the points of the nodes, 0 at padded ones, [b, C, n]."""
        real = self.real[:, None].expand_as(f)
        return torch.zeros_like(f).masked_scatter_(real, stream.polya_gamma(f[real]))

    def sample_omega(self, chains: int, sweeps: int, stream: Stream) -> Tensor:
        """Posterior draws of omega, one a chain, [b, C, n]."""
        return gibbs.run(self, chains, sweeps, stream, self.counters).omega

    def predict(self, targets: Sequence[Tensor], omega: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Mean and variance of f* at the targets [T, d] of every node, each [C, T].

        Differentiable in the inputs, the targets and the scales of the kernel; omega is held fixed.
        """
        test_inputs = pad_sequence(list(targets), batch_first=True)
        k_star_star = self.kernel.diagonal(test_inputs) + self.jitter
        K_star = self.kernel.cross(self.inputs, test_inputs) * self.real[:, :, None]
        mu, v = dense.predictive(self.gram, K_star, k_star_star, omega, self.kappa)
        return [(mu[i, :, : len(rows)], v[i, :, : len(rows)]) for i, rows in enumerate(targets)]

    def split(self, omega: Tensor) -> list[Tensor]:
        """The draws [C, n] of every node, without the padded points."""
        return [draws[:, :size] for draws, size in zip(omega, self.sizes, strict=True)]


def padding_groups(sizes: Sequence[int]) -> list[list[int]]:
    """Positions of nodes that are padded to the largest of their group; every position is in one group."""
    groups: list[list[int]] = []
    largest = 0
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        if not groups or (largest > SMALL and largest > LARGEST_SHARE * sizes[i]):
            groups.append([])
            largest = sizes[i]
        groups[-1].append(i)
    return groups


def _first(sizes: Sequence[int], like: Tensor) -> Tensor:
    """Which of the rows are not padded, bool [b, n]."""
    return torch.arange(max(sizes), device=like.device) < torch.tensor(sizes, device=like.device)[:, None]
