"""Gibbs sampling of a binary GP node: omega | f ~ PG(1, f) and f | omega, y ~ Gaussian, all chains at once.

The prior decides how f is drawn (`full.FullGP`, `fitc.FITC`); this file owns the alternation. Chains start from a
draw of the prior; five sweeps are enough for predictive probabilities (bias below Monte-Carlo noise).
Paper: section A.1.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pfedgp_core.errors import NonFiniteError
from pfedgp_core.numerics.deferred import holds
from pfedgp_core.numerics.streams import Stream

__all__ = ["GibbsState", "LatentModel", "run", "run_all"]


class LatentModel(ABC):
    """What the sampler needs of a GP node with n training points; of several, shapes start with their number."""

    @abstractmethod
    def draw_prior(self, chains: int, stream: Stream) -> Tensor:
        """f ~ prior, [C, n]."""

    @abstractmethod
    def draw_latents(self, omega: Tensor, stream: Stream) -> tuple[Tensor, Tensor]:
        """f ~ p(f | omega, y) and an independent draw of the prior, each [C, n]."""

    def tilts(self, f: Tensor) -> Tensor:
        """The values of f [C, n] to draw Polya-Gamma variables for, [m]."""
        return f.flatten()

    def placed(self, drawn: Tensor, f: Tensor) -> Tensor:
        """omega [C, n], of the shape of f, from what was drawn for its tilts [m]."""
        return drawn.view(f.shape)


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


def run(
    model: LatentModel, chains: int, sweeps: int, stream: Stream, counters: Counter[str] | None = None
) -> GibbsState:
    """Run `sweeps` sweeps of `chains` chains from the prior; see `run_all`."""
    return run_all([model], chains, sweeps, [stream], counters)[0]


def run_all(
    models: Sequence[LatentModel],
    chains: int,
    sweeps: int,
    streams: Sequence[Stream],
    counters: Counter[str] | None = None,
) -> list[GibbsState]:
    """Run `sweeps` sweeps of `chains` chains of every model from the prior, one call of the sampler of omega for all.

    A chain whose f is not finite restarts from the prior; the others are kept.

    Parameters
    ----------
    models : sequence of LatentModel
        At least one, all on one device.
    chains, sweeps : int
    streams : sequence of Stream
        One a model. Polya-Gamma variables are drawn from the first.
    counters : Counter, optional
        ``chain_redrawn`` counts restarted chains.

    Returns
    -------
    list of GibbsState, one a model

    Raises
    ------
    NonFiniteError
        A prior itself is not finite.
    """
    with torch.no_grad():
        latents = [model.draw_prior(chains, stream) for model, stream in zip(models, streams, strict=True)]
        omegas = _draw_omegas(models, latents, streams[0])
        redrawn = [torch.zeros((), dtype=torch.int64, device=f.device) for f in latents]
        for _ in range(sweeps):
            for i, (model, stream) in enumerate(zip(models, streams, strict=True)):
                latents[i], broken = _draw_latents(model, omegas[i], stream)
                if broken is not None:
                    redrawn[i] = redrawn[i] + broken
            omegas = _draw_omegas(models, latents, streams[0])
        states = [GibbsState(*state) for state in zip(latents, omegas, redrawn, strict=True)]
        finite = torch.isfinite(torch.stack([omega.sum() for omega in omegas]).sum())
        restarts = torch.stack(redrawn).sum()
        if holds(finite & (restarts == 0)):
            return states
    if not bool(finite):
        raise NonFiniteError("The Gibbs sampler left the finite numbers: check that features and kernel are finite.")
    if counters is not None:
        counters["chain_redrawn"] += int(restarts)
    return states


def _draw_latents(model: LatentModel, omega: Tensor, stream: Stream) -> tuple[Tensor, Tensor | None]:
    """f of every chain, and how many chains restarted; None where a look has shown that none did."""
    f, prior_draw = model.draw_latents(omega, stream)
    # An accelerator would have to catch up for a look.
    if f.device.type == "cpu" and math.isfinite(f.sum().item()):
        return f, None
    good = torch.isfinite(f.sum(-1, keepdim=True))
    return torch.where(good, f, prior_draw), (~good).sum()


def _draw_omegas(models: Sequence[LatentModel], latents: Sequence[Tensor], stream: Stream) -> list[Tensor]:
    tilts = [model.tilts(f) for model, f in zip(models, latents, strict=True)]
    drawn = stream.polya_gamma(torch.cat(tilts)).split([len(values) for values in tilts])
    return [model.placed(values, f) for model, values, f in zip(models, drawn, latents, strict=True)]
