"""The paper's partition: each simulated client holds a part of the samples of k classes.

Each client holds k distinct classes, each class is held by equally many clients, and the holders of a class share its
samples in proportion to fractions alpha ~ U(.4, .6) (appendix "Data assignment"). Classes and fractions are the same in
the training, validation and test split, so a client is tested on its own mix of classes.
"""

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition, check_enough, checked_labels, client_names, frozen
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.numerics.streams import Stream

__all__ = [
    "assign_classes",
    "fraction_bounds",
    "fractions",
    "k_class",
    "k_class_partition",
    "largest_remainder_counts",
]

LOW, HIGH = 0.4, 0.6  # range of the unnormalised fractions
# Floats such as 0.29 * 100 fall just below the integer they stand for; quotas this close count as equal.
_SLACK = Fraction(1, 10**9)


def k_class(labels: Mapping[str, np.ndarray], n_classes: int, settings: Settings) -> Partition:
    """See ``Partitioner``; each client holds ``classes_per_client`` classes, see `k_class_partition`."""
    return k_class_partition(labels, n_classes, settings.clients, settings.classes_per_client, settings.seed)


def k_class_partition(
    labels: Mapping[str, np.ndarray], n_classes: int, clients: int, classes_per_client: int, seed: int
) -> Partition:
    """Split a data set over clients that hold k classes each (paper, appendix "Data assignment").

    Parameters
    ----------
    labels : mapping of str to int array [N]
        Class ids 0..n_classes-1 of each split; must have ``train``.
    n_classes : int
        Classes of the data set.
    clients, classes_per_client : int
        Number of clients, and of distinct classes that each of them holds.
    seed : int
        Same seed, same partition. The classes and fractions do not depend on the labels.

    Returns
    -------
    Partition
        Disjoint index sets that cover every sample of every split. Each client has at least one training sample of
        each of its classes; in a small validation or test split it may have none.

    Raises
    ------
    ConfigError
        k is more than the classes there are, or clients * k is no multiple of the number of classes.
    DataError
        Labels out of range, or a class with fewer training samples than holders.
    """
    checked = checked_labels(labels, n_classes)
    stream = Stream(seed, "partition")
    classes = assign_classes(n_classes, clients, classes_per_client, stream.child("classes").numpy)
    holders = [np.flatnonzero((classes == c).any(axis=1)) for c in range(n_classes)]
    check_enough(checked["train"], n_classes, len(holders[0]))

    draw = stream.child("fractions").numpy
    shares = [fractions(draw.uniform(LOW, HIGH, size=len(held_by)).tolist()) for held_by in holders]
    indices = {}
    for split, each in checked.items():
        parts: list[list[np.ndarray]] = [[] for _ in range(clients)]
        for c, held_by in enumerate(holders):
            rows = stream.child(split, c).numpy.permutation(np.flatnonzero(each == c))
            ends = np.cumsum(largest_remainder_counts(shares[c], len(rows)))
            for client, part in zip(held_by, np.split(rows, ends[:-1]), strict=True):
                parts[client].append(part)
        indices[split] = tuple(frozen(np.sort(np.concatenate(own))) for own in parts)

    share = {
        (int(client), c): f for c, held_by in enumerate(holders) for client, f in zip(held_by, shares[c], strict=True)
    }
    return Partition(
        client_names=client_names(clients),
        classes=tuple(tuple(int(c) for c in row) for row in classes),
        fractions=tuple(tuple(share[i, int(c)] for c in row) for i, row in enumerate(classes)),
        indices=indices,
    )


def assign_classes(n_classes: int, clients: int, classes_per_client: int, rng: np.random.Generator) -> np.ndarray:
    """Draw k distinct classes for each client so that every class has equally many holders.

    Clients are served in random order. A class that still needs as many holders as clients are left must be taken;
    the rest are drawn in proportion to the holders they still need. No class then ever needs more holders than
    clients are left, so the draw cannot run into a dead end.

    Returns
    -------
    numpy.ndarray, int64 [clients, k]
        Ascending in each row.

    Raises
    ------
    ConfigError
        k is more than ``n_classes``, a number below 1, or clients * k is no multiple of ``n_classes``.
    """
    k = classes_per_client
    for name, value in (("n_classes", n_classes), ("clients", clients), ("classes-per-client", k)):
        if value < 1:
            raise ConfigError(f"{name} = {value} is too small; give at least 1.")
    if k > n_classes:
        raise ConfigError(
            f"classes-per-client = {k} is more than the {n_classes} classes there are; give at most {n_classes}."
        )
    if clients * k % n_classes:
        near = " or ".join(map(str, _near(clients, n_classes // math.gcd(k, n_classes))))
        other = _near(k, n_classes // math.gcd(clients, n_classes))[0]
        raise ConfigError(
            f"clients = {clients} with classes-per-client = {k} cannot hold each of the {n_classes} classes equally "
            f"often ({clients * k} is not a multiple of {n_classes}); use clients = {near}, or classes-per-client = "
            f"{other}."
        )
    needed = np.full(n_classes, clients * k // n_classes)
    table = np.empty((clients, k), dtype=np.int64)
    for left, client in zip(range(clients, 0, -1), rng.permutation(clients), strict=True):
        # The k largest of log(u) / weight are a weighted draw without replacement (Efraimidis and Spirakis, 2006).
        keys = np.log1p(-rng.random(n_classes)) / np.maximum(needed, 1)
        keys[needed == left] = np.inf
        keys[needed == 0] = -np.inf
        chosen = np.argsort(-keys, kind="stable")[:k]
        needed[chosen] -= 1
        table[client] = np.sort(chosen)
    return table


def fractions(alphas: Sequence[float | str]) -> tuple[float, ...]:
    """Normalise alpha_i to alpha_i / sum_j alpha_j, rounded once from the exact quotient.

    Raises
    ------
    DataError
        No alpha, or one that is not a positive finite number.
    """
    return tuple(float(a) for a in _exact_fractions(alphas))


def fraction_bounds(holders: int) -> tuple[float, float]:
    """Return the smallest and largest fraction that one of ``holders`` clients can get of a class."""
    others = holders - 1
    return LOW / (LOW + HIGH * others), HIGH / (HIGH + LOW * others)


def largest_remainder_counts(shares: Sequence[float | Fraction], n: int) -> tuple[int, ...]:
    """Split n items in proportion to ``shares``, dropping none: floors first, then one each by largest remainder.

    Ties go to the lowest index. With the fractions of this module and n >= len(shares), every count is at least 1:
    where a quota is below 1 all quotas are below 1.5, so quotas below 1 have the largest remainders.

    Raises
    ------
    DataError
        ``n`` is negative, or the shares are not positive finite numbers.
    """
    if n < 0:
        raise DataError(f"Cannot split {n} items; give 0 or more.")
    quotas = [share * n for share in _exact_fractions(shares)]
    counts = [math.floor(q + _SLACK) for q in quotas]
    by_remainder = sorted(range(len(quotas)), key=lambda i: (-round((quotas[i] - counts[i]) / _SLACK), i))
    for i in by_remainder[: n - sum(counts)]:
        counts[i] += 1
    return tuple(counts)


def _exact_fractions(weights: Sequence[float | str | Fraction]) -> list[Fraction]:
    """Return weights that sum to exactly 1."""
    try:
        exact = [Fraction(w) for w in weights]
    except (ValueError, OverflowError, TypeError):
        exact = []
    if not exact or min(exact) <= 0:
        raise DataError(f"Fractions {list(weights)!r} are not positive finite numbers; give one or more such numbers.")
    total = sum(exact)
    return [w / total for w in exact]


def _near(n: int, step: int) -> list[int]:
    """The multiples of a number on both sides of n, the nearer one first; none of them is 0."""
    below = n // step * step
    return sorted((each for each in (below, below + step) if each), key=lambda each: abs(each - n))
