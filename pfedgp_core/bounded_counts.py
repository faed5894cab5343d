"""How much one client weighs where clients are summed: at most a multiple of the median client, whatever it claims.

A client alone says how many samples it has, and its sums are of as many. So it counts with

    w_i = min(n_i, 3 m),    m = the lower median of all n_j > 0,

samples of its n_i: all its sums are reduced to that many, as if it had sent them of an even part of its samples. With
five equal clients, one that claims any number has 3 of 7 parts, so less than half. Where no client has more than three
times the median, nothing changes.
"""

from collections.abc import Sequence

__all__ = ["MULTIPLE", "bounded_counts", "even_part"]

MULTIPLE = 3


def bounded_counts(counts: Sequence[int], multiple: int = MULTIPLE) -> list[int]:
    """Samples with which each client counts.

    Parameters
    ----------
    counts : sequence of int
        Samples that each client claims, from 0.
    multiple : int
        Of the median client, as the bound.

    Returns
    -------
    list of int
        In the same order; none is above its count.
    """
    positive = sorted(n for n in counts if n > 0)
    if not positive:
        return list(counts)
    bound = multiple * positive[(len(positive) - 1) // 2]
    return [min(n, bound) for n in counts]


def even_part(cells: Sequence[int], n: int) -> list[int]:
    """How many samples of each cell are among `n` of all samples, taken evenly.

    Parameters
    ----------
    cells : sequence of int
        Samples in each cell.
    n : int
        At most the sum of the cells.

    Returns
    -------
    list of int
        They sum to `n`; no cell, and no row of neighbouring cells, is more than one sample away from its share.
    """
    total, seen, taken, part = sum(map(int, cells)), 0, 0, []
    for cell in map(int, cells):  # Python's integers: a product of two counts is beyond 64 bits
        seen += cell
        until = (seen * n + total // 2) // total if total else 0
        part.append(until - taken)
        taken = until
    return part
