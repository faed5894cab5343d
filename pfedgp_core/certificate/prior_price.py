r"""The price of choosing a tree from the data in a PAC-Bayes bound: -log of its prior probability.

The prior draws a class set A of the federation's K classes (a size uniform on 2..K, then a set of that size) and a
binary tree on A uniformly among all (2k-3)!! of them, k = |A|. A posterior that sits on the tree seen in the data has

.. math::
    KL = \log\left[(K - 1) \binom{K}{k}\right] + \log (2k - 3)!!

from it, in addition to the KL of the nodes' functions. Children need no order: naming them the other way round turns
f into -f, and the prior of f is symmetric.
"""

import math

from pfedgp_core.errors import ConfigError

__all__ = ["log_class_sets", "log_trees"]


def log_trees(k: int) -> float:
    """log (2k-3)!!, the number of rooted binary trees with k >= 2 labelled leaves and unordered children."""
    if k < 2:
        raise ConfigError(f"A tree of {k} classes decides nothing; a certificate needs at least 2 classes.")
    return math.log(math.prod(range(1, 2 * k - 2, 2)))


def log_class_sets(k: int, federation: int) -> float:
    """log [(K - 1) binom(K, k)]: minus the log prior probability of one set of k among K classes, 2 <= k <= K."""
    if not 2 <= k <= federation:
        raise ConfigError(
            f"{k} classes out of {federation} are no class set; give 2 or more, and a federation of more."
        )
    return math.log((federation - 1) * math.comb(federation, k))
