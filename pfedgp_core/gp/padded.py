"""GPs of several tree nodes at once: padded to one size, so that a sweep of all is one call of each operation.

A padded point has prior variance 1, no covariance with any other and kappa = 0. It changes nothing at the others, and
no Polya-Gamma variable is drawn for it: omega is 0 there.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad
from torch.nn.utils.rnn import pad_sequence

from pfedgp_core.gp import dense, gibbs
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.iterative import IterativeNode
from pfedgp_core.gp.leave_one_out import full_cavity
from pfedgp_core.numerics.linalg import safe_cholesky
from pfedgp_core.numerics.streams import Stream

__all__ = ["WASTE", "PaddedGPs", "padding_groups"]

RATIO = 2  # the largest node of a group has at most this many times the points of the smallest
WASTE = 1.3  # a group's padded matrices hold at most this many times the entries of its nodes' own
SMALL = 24  # nodes up to this size go together whatever their ratio: their cost is that of the calls
GROUP_BYTES = 2**26  # of the matrices of a group; a node above it goes alone


class PaddedGPs(gibbs.LatentModel):
    """GPs in their n x n form, sampled and predicted together.

    Parameters
    ----------
    gps : sequence of FullGP or FITC
        b of them, of one kernel and jitter, all iterative or none; n is the size of the largest one.
    counters : Counter
        Receives the numerical recoveries.

    Attributes
    ----------
    gram : Tensor [b, n, n]
    kappa : Tensor [b, n]
    mean : Tensor [b, n] or None
        Prior means; all nodes have them or none.
    real : Tensor [b, n] of bool
        Which points are not padded.
    """

    def __init__(self, gps: Sequence[FullGP | FITC], counters: Counter[str]) -> None:
        self.gps, self.counters, self.iterative = gps, counters, gps[0].iterative
        self.sizes = [gp.kappa.shape[0] for gp in gps]
        self.inputs = _stacked([gp.inputs for gp in gps])
        self.kappa = pad_sequence([gp.kappa for gp in gps], batch_first=True)
        means = [gp.mean for gp in gps if gp.mean is not None]
        self.mean = pad_sequence(means, batch_first=True) if means else None
        sizes = torch.tensor(self.sizes).to(self.kappa.device, non_blocking=True)
        self.real = torch.arange(self.kappa.shape[1], device=self.kappa.device) < sizes[:, None]
        # The kernel of full GPs is one call for all; other nodes have their matrices from their inducing inputs.
        self._full = [gp for gp in gps if isinstance(gp, FullGP) and gp.block is None]
        self._alike = len(self._full) == len(gps)
        self.gram = self._padded_gram()
        self._places: tuple[int, Tensor] | None = None

    def _padded_gram(self) -> Tensor:
        if not self._alike:
            n = self.kappa.shape[1]
            grams = torch.stack(
                [pad(gp.gram, (0, n - size) * 2) for gp, size in zip(self.gps, self.sizes, strict=True)]
            )
            return grams + torch.diag_embed((~self.real).to(grams.dtype))
        gram = self._full[0].kernel.gram(self.inputs, self._full[0].jitter)
        unit = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
        return torch.where(self.real[:, :, None] & self.real[:, None, :], gram, unit)

    @cached_property
    def _prior_factor(self) -> Tensor:
        return safe_cholesky(self.gram.detach(), self.counters)

    @cached_property
    def _node(self) -> IterativeNode:
        return IterativeNode(self.gram.detach(), self.counters, self.sizes)

    def draw_prior(self, chains: int, stream: Stream) -> Tensor:
        """f ~ N(m, K) of every node, [b, C, n]."""
        b, n = self.kappa.shape
        drawn = stream.normal(b, chains, n, dtype=self.kappa.dtype) @ self._prior_factor.mT
        return dense.about(self.mean, drawn)

    def draw_latents(self, omega: Tensor, stream: Stream) -> tuple[Tensor, Tensor]:
        """f ~ p(f | omega, y) and an independent draw of the prior, each [b, C, n]."""
        kappa = self._kappa_given(omega)
        if any(gp.swept_iteratively for gp in self.gps):
            f, f0 = self._node.draw_latents(self._prior_factor, omega, kappa, stream)
        else:
            f, f0 = dense.draw_latents(self.gram.detach(), self._prior_factor, omega, kappa, stream)
        return dense.about(self.mean, f), dense.about(self.mean, f0)

    def _kappa_given(self, omega: Tensor) -> Tensor:
        return dense.kappa_given(self.kappa, self.mean, omega)

    def _real_places(self, chains: int) -> Tensor:
        """Places of the points that are not padded in [b C n], chain by chain."""
        if self._places is None or self._places[0] != chains:
            n = self.real.shape[1]
            node, point = self.real.numpy().nonzero()
            places = (node * chains * n + point) + (np.arange(chains) * n)[:, None]
            self._places = chains, torch.from_numpy(places.ravel())
        return self._places[1]

    def tilts(self, f: Tensor) -> Tensor:
        """The values of f [b, C, n] at the points of the nodes, [m]; on an accelerator also at padded points."""
        if f.device.type != "cpu":  # to count the points would bring the device back to the host
            return f.flatten()
        return f.flatten().index_select(0, self._real_places(f.shape[1]))

    def placed(self, drawn: Tensor, f: Tensor) -> Tensor:
        """omega [b, C, n]: what was drawn for the tilts, and 0 at padded points."""
        if f.device.type != "cpu":
            return drawn.view(f.shape) * self.real[:, None]
        return torch.zeros_like(f).view(-1).index_copy_(0, self._real_places(f.shape[1]), drawn).view(f.shape)

    def sample_omega(self, chains: int, sweeps: int, stream: Stream) -> Tensor:
        """Posterior draws of omega, one a chain, [b, C, n]."""
        return gibbs.run(self, chains, sweeps, stream, self.counters).omega

    def predict(self, targets: Sequence[Tensor], omega: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Mean and variance of f* - m* at the targets [T, d] of every node, each [C, T].

        Differentiable as the nodes' own `predict`; omega is held fixed.
        """
        lengths = [len(rows) for rows in targets]
        mu, v = (moment.split(lengths, dim=1) for moment in self.moments(targets, omega))
        return list(zip(mu, v, strict=True))

    def moments(self, targets: Sequence[Tensor], omega: Tensor) -> tuple[Tensor, Tensor]:
        """As `predict`, the targets of all nodes side by side, each [C, T]."""
        predictive = self._node.predictive if self.iterative else dense.predictive
        mu, v = predictive(self.gram, *self._padded_cross(targets), omega, self._kappa_given(omega))
        places = np.arange(mu.shape[-1]) < np.array([len(rows) for rows in targets])[:, None]
        columns = torch.from_numpy(places.ravel().nonzero()[0]).to(mu.device, non_blocking=True)
        # A slice for each node would cost a tensor of full size for each in the backward pass.
        side_by_side = (moment.transpose(0, 1).flatten(1).index_select(1, columns) for moment in (mu, v))
        return next(side_by_side), next(side_by_side)

    def leave_one_out(self, omega: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Mean and variance of every training latent without its own label, [C, n] of every node."""
        leave_one_out = self._node.leave_one_out if self.iterative else full_cavity
        mu, v = leave_one_out(self.gram, omega, self._kappa_given(omega))
        if self.mean is not None:
            mu = mu + self.mean[:, None]
        return [(mu[i, :, :size], v[i, :, :size]) for i, size in enumerate(self.sizes)]

    def _padded_cross(self, targets: Sequence[Tensor]) -> tuple[Tensor, Tensor]:
        """K* [b, n, T] and k** [b, T], T the number of targets of the node that has most."""
        if not self._alike:
            n, T = self.kappa.shape[1], max(map(len, targets))
            pairs = [gp.cross(rows) for gp, rows in zip(self.gps, targets, strict=True)]
            crosses = torch.stack([pad(K, (0, T - K.shape[1], 0, n - len(K))) for K, _ in pairs])
            return crosses, pad_sequence([variances for _, variances in pairs], batch_first=True)
        test_inputs, first = _stacked(targets), self._full[0]
        K_star = first.kernel.cross(self.inputs, test_inputs) * self.real[:, :, None]
        return K_star, first.kernel.diagonal(test_inputs) + first.jitter

    def split(self, omega: Tensor) -> list[Tensor]:
        """The draws [C, n] of every node, without the padded points."""
        return [draws[:, :size] for draws, size in zip(omega, self.sizes, strict=True)]


def _stacked(parts: Sequence[Tensor]) -> Tensor:
    """Rows [n_i, d] of several nodes as [b, n, d]; what is padded repeats some row.

    As `pad_sequence`, whose backward pass makes a tensor of full size for every part.
    """
    sizes = np.array([part.shape[0] for part in parts])
    n, first = sizes.max(), np.concatenate([[0], sizes.cumsum()[:-1]])
    rows = torch.from_numpy((first[:, None] + np.minimum(np.arange(n), sizes[:, None] - 1)).ravel().clip(0))
    together = torch.cat(list(parts))
    return together.index_select(0, rows.to(together.device, non_blocking=True)).view(len(sizes), n, -1)


def padding_groups(sizes: Sequence[int], entry_bytes: int, waste: float = WASTE) -> list[list[int]]:
    """Positions of nodes that are padded to the largest of their group; every position is in one group.

    Sizes differ by `RATIO` at most, and a group's matrices hold at most `waste` times the entries of its nodes' own,
    unless all have `SMALL` points at most. They hold at most `GROUP_BYTES`, unless the group is one node.

    Parameters
    ----------
    sizes : sequence of int
        Points of every node.
    entry_bytes : int
        Bytes of one entry in the matrices of all chains together.
    waste : float
    """
    groups: list[list[int]] = []
    largest = own = 0
    for i in sorted(range(len(sizes)), key=lambda i: -sizes[i]):
        own += sizes[i] ** 2
        padded = largest**2 * (len(groups[-1]) + 1) if groups else 0
        wasteful = largest > SMALL and (largest > RATIO * sizes[i] or padded > waste * own)
        if not groups or wasteful or padded * entry_bytes > GROUP_BYTES:
            groups.append([])
            largest, own = sizes[i], sizes[i] ** 2
        groups[-1].append(i)
    return groups
