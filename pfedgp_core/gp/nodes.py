"""The GPs of several tree nodes: those that one padded batch suits are sampled together, the others each by itself.

Together go full GPs with dense factorisations, whose matrices are so small that calls and not arithmetic are their
cost. A batch draws from the stream of its first node.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from torch import Tensor

from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.padded import PaddedGPs, padding_groups
from pfedgp_core.numerics.streams import Stream

__all__ = ["sample_nodes", "training_moments"]

NodeModel = FullGP | FITC


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
    for group in _groups(gps):
        stream = streams[group[0]]
        if len(group) == 1:
            omegas[group[0]] = gps[group[0]].sample_omega(chains, sweeps, stream)
        else:
            together = PaddedGPs(_full([gps[i] for i in group]), counters)
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
    for group in _groups(gps):
        stream = streams[group[0]]
        if len(group) == 1:
            gp, rows = gps[group[0]], targets[group[0]]
            moments[group[0]] = gp.predict(rows, gp.sample_omega(chains, sweeps, stream))
        else:
            together = PaddedGPs(_full([gps[i] for i in group]), counters)
            omega = together.sample_omega(chains, sweeps, stream)
            moments.update(zip(group, together.predict([targets[i] for i in group], omega), strict=True))
    return [moments[i] for i in range(len(gps))]


def _groups(gps: Sequence[NodeModel]) -> Iterator[list[int]]:
    """Positions of nodes that go together, ascending; a node that goes alone is a group of one."""
    dense = [i for i, gp in enumerate(gps) if isinstance(gp, FullGP) and not gp.iterative]
    batched = set(dense)
    yield from ([i] for i in range(len(gps)) if i not in batched)
    for group in padding_groups([len(gps[i].kappa) for i in dense]):
        yield sorted(dense[i] for i in group)


def _full(gps: Sequence[NodeModel]) -> list[FullGP]:
    return [gp for gp in gps if isinstance(gp, FullGP)]
