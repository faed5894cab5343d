"""The GPs of several tree nodes: those that one padded batch suits are sampled together, the others each by itself.

Together go nodes of n x n factorisations, whose matrices are so small that calls and not arithmetic are their cost.
A batch draws from the stream of its first node.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from torch import Tensor

from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.padded import WASTE, PaddedGPs, padding_groups
from pfedgp_core.numerics.streams import Stream

__all__ = ["sample_nodes", "training_moments"]

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
    for group in _groups(gps, chains):
        stream = streams[group[0]]
        if len(group) == 1:
            omegas[group[0]] = gps[group[0]].sample_omega(chains, sweeps, stream)
        else:
            together = PaddedGPs([gps[i] for i in group], counters)
            omegas.update(zip(group, together.split(together.sample_omega(chains, sweeps, stream)), strict=True))
    return [omegas[i] for i in range(len(gps))]


def training_moments(
    gps: Sequence[NodeModel],
    targets: Sequence[Tensor],
    streams: Sequence[Stream],
    chains: int,
    sweeps: int,
    counters: Counter[str],
) -> list[tuple[Tensor, Tensor]]:
    """As `sample_nodes`, then the mean and variance of f* at the targets [T, d] of every node, each [C, T].

    Differentiable in inputs, targets and the scales of the kernel; omega is held fixed.
    """
    moments: dict[int, tuple[Tensor, Tensor]] = {}
    for group in _groups(gps, chains):
        stream = streams[group[0]]
        if len(group) == 1:
            gp, rows = gps[group[0]], targets[group[0]]
            moments[group[0]] = gp.predict(rows, gp.sample_omega(chains, sweeps, stream))
        else:
            together = PaddedGPs([gps[i] for i in group], counters)
            omega = together.sample_omega(chains, sweeps, stream)
            moments.update(zip(group, together.predict([targets[i] for i in group], omega), strict=True))
    return [moments[i] for i in range(len(gps))]


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
