"""Gibbs sampling of a binary GP node: omega | f ~ PG(1, f) and f | omega, y ~ Gaussian, all chains at once.

The prior decides how f is drawn (`full.FullGP`, `fitc.FITC`); this file owns the alternation. Chains start from a
draw of the prior; five sweeps are enough for predictive probabilities (bias below Monte-Carlo noise).
Paper: section A.1.
"""

from abc import ABC, abstractmethod
from collections import Counter
from typing import NamedTuple

import torch
from torch import Tensor

from pfedgp_core.errors import NonFiniteError
from pfedgp_core.numerics.deferred import holds
from pfedgp_core.numerics.streams import Stream

__all__ = ["GibbsState", "LatentModel", "init", "run", "step"]


class LatentModel(ABC):
    """What the sampler needs of a GP node with n training points; of several, shapes start with their number."""

    @abstractmethod
    def draw_prior(self, chains: int, stream: Stream) -> Tensor:
        """f ~ prior, [C, n]."""

    @abstractmethod
    def draw_latents(self, omega: Tensor, stream: Stream) -> tuple[Tensor, Tensor]:
        """f ~ p(f | omega, y) and an independent draw of the prior, each [C, n]."""

    def draw_omega(self, f: Tensor, stream: Stream) -> Tensor:
        """omega ~ PG(1, f), [C, n]."""
        return stream.polya_gamma(f)


class GibbsState(NamedTuple):
    """What moves.

    Attributes
    ----------
    f : Tensor [C, n]
        Latent values at the training points.
    omega : Tensor [C, n]
        Polya-Gamma variables, one a training point.
    redrawn : Tensor, 0-d
        Chains that became non-finite and were restarted from the prior, so far.
    """

    f: Tensor
    omega: Tensor
    redrawn: Tensor


def init(model: LatentModel, chains: int, stream: Stream) -> GibbsState:
    """Start every chain from a draw of the prior."""
    f = model.draw_prior(chains, stream)
    return GibbsState(f, model.draw_omega(f, stream), torch.zeros((), dtype=torch.int64, device=f.device))


def step(state: GibbsState, model: LatentModel, stream: Stream) -> GibbsState:
    """One sweep of all chains. A chain whose f is not finite restarts from the prior; the others are kept."""
    f, prior_draw = model.draw_latents(state.omega, stream)
    good = torch.isfinite(f.sum(-1, keepdim=True))
    f = torch.where(good, f, prior_draw)
    return GibbsState(f, model.draw_omega(f, stream), state.redrawn + (~good).sum())


def run(
    model: LatentModel, chains: int, sweeps: int, stream: Stream, counters: Counter[str] | None = None
) -> GibbsState:
    """Run `sweeps` sweeps of `chains` chains from the prior.

    Parameters
    ----------
    model : LatentModel
    chains, sweeps : int
    stream : Stream
    counters : Counter, optional
        ``chain_redrawn`` counts restarted chains.

    Returns
    -------
    GibbsState

    Raises
    ------
    NonFiniteError
        The prior itself is not finite.
    """
    with torch.no_grad():
        state = init(model, chains, stream)
        for _ in range(sweeps):
            state = step(state, model, stream)
        finite = torch.isfinite(state.omega.sum())
        if holds(finite & (state.redrawn == 0)):
            return state
    if not bool(finite):
        raise NonFiniteError("The Gibbs sampler left the finite numbers: check that features and kernel are finite.")
    if counters is not None:
        counters["chain_redrawn"] += int(state.redrawn)
    return state
