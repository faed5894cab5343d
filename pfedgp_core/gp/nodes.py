"""The GPs of several tree nodes: those that one padded batch suits are sampled together, the others each by itself.

Together go nodes of n x n factorisations, whose matrices are so small that calls and not arithmetic are their cost.
A batch draws from the stream of its first node, and all Polya-Gamma variables of a sweep come from one call.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pfedgp_core.gp import gibbs
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.padded import WASTE, PaddedGPs, padding_groups
from pfedgp_core.numerics.streams import Stream

__all__ = ["Moments", "leave_one_out_moments", "sample_nodes", "training_moments"]

NodeModel = FullGP | FITC

ITERATIVE_WASTE = 1.5  # the arithmetic of these larger nodes is most of their cost
ITERATIVE_MATRICES = 20  # of the size of the Gram matrix, with preconditioners and gradients


def sample_nodes(
    gps: Sequence[NodeModel], streams: Sequence[Stream], chains: int, sweeps: int, counters: Counter[str]
) -> list[Tensor]:
    """Posterior draws of omega of every node, one a chain.

    Parameters
    ----------
    gps : sequence of FullGP or FITC
        Of one client.
    streams : sequence of Stream
        One a node.
    chains, sweeps : int
    counters : Counter
        Receives the numerical recoveries.

    Returns
    -------
    list of Tensor [C, n], n the points of the node
    """
    omegas: dict[int, Tensor] = {}
    for group, model, omega in _sampled(gps, streams, chains, sweeps, counters):
        parts = model.split(omega) if isinstance(model, PaddedGPs) else [omega]
        omegas.update(zip(group, parts, strict=True))
    return [omegas[i] for i in range(len(gps))]


class Moments(NamedTuple):
    """Mean and variance of f* at the targets of several nodes, which stand side by side.

    Attributes
    ----------
    order : list of int
        Positions of the nodes in that row.
    mu, v : Tensor [C, T], T the targets of all nodes
    """

    order: list[int]
    mu: Tensor
    v: Tensor


def training_moments(
    gps: Sequence[NodeModel],
    targets: Sequence[Tensor],
    streams: Sequence[Stream],
    chains: int,
    sweeps: int,
    counters: Counter[str],
) -> Moments:
    """As `sample_nodes`, then the moments of f* at the targets [T, d] of every node.

    Differentiable in inputs, targets and the scales of the kernel; omega is held fixed.
    """
    order: list[int] = []
    moments: list[tuple[Tensor, Tensor]] = []
    for group, model, omega in _sampled(gps, streams, chains, sweeps, counters):
        order += group
        if isinstance(model, PaddedGPs):
            moments.append(model.moments([targets[i] for i in group], omega))
        else:
            moments.append(model.predict(targets[group[0]], omega))
    if len(moments) == 1:
        return Moments(order, *moments[0])
    return Moments(order, *(torch.cat(parts, 1) for parts in zip(*moments, strict=True)))


def leave_one_out_moments(
    gps: Sequence[NodeModel], streams: Sequence[Stream], chains: int, sweeps: int, counters: Counter[str]
) -> list[tuple[Tensor, Tensor]]:
    """As `sample_nodes`, then the moments of every training latent without its own label, each [C, n] a node.

    Differentiable in inputs and the scales of the kernel; omega is held fixed. See `gp.leave_one_out`.
    """
    moments: dict[int, tuple[Tensor, Tensor]] = {}
    for group, model, omega in _sampled(gps, streams, chains, sweeps, counters):
        own = model.leave_one_out(omega) if isinstance(model, PaddedGPs) else [model.leave_one_out(omega)]
        moments.update(zip(group, own, strict=True))
    return [moments[i] for i in range(len(gps))]


def _sampled(
    gps: Sequence[NodeModel], streams: Sequence[Stream], chains: int, sweeps: int, counters: Counter[str]
) -> Iterator[tuple[list[int], NodeModel | PaddedGPs, Tensor]]:
    """Positions of the nodes of every group, their model, and its draws of omega."""
    groups = list(_groups(gps, chains))
    models = [gps[group[0]] if len(group) == 1 else PaddedGPs([gps[i] for i in group], counters) for group in groups]
    if models:
        states = gibbs.run_all(models, chains, sweeps, [streams[group[0]] for group in groups], counters)
        yield from zip(groups, models, (state.omega for state in states), strict=True)


def _groups(gps: Sequence[NodeModel], chains: int) -> Iterator[list[int]]:
    """Positions of nodes that go together, ascending; a node that goes alone is a group of one."""
    kinds: dict[bool, list[int]] = {True: [], False: []}
    for i, gp in enumerate(gps):
        if isinstance(gp, FullGP) or (gp.dual and gp.dual_draws):
            kinds[gp.iterative].append(i)
        else:
            yield [i]
    for iterative, members in kinds.items():
        sizes = [len(gps[i].kappa) for i in members]
        # Conjugate gradients share one matrix between the chains, factorisations have one a chain.
        entry_bytes = 4 * (ITERATIVE_MATRICES if iterative else chains)
        for group in padding_groups(sizes, entry_bytes, ITERATIVE_WASTE if iterative else WASTE):
            yield sorted(members[i] for i in group)
