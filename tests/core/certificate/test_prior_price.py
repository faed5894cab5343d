"""What the choice of a tree costs: prices by counting, and how they enter the bound."""

import itertools
import math
from typing import Any

import pytest

from pfedgp_core.certificate.prior_price import log_class_sets, log_trees
from pfedgp_core.certificate.theorem import bound_tree, tree_posterior
from pfedgp_core.errors import ConfigError
from tests.certified import fitted, parts


def trees(leaves: tuple[int, ...]) -> set[Any]:
    """All binary trees with unordered children, by brute force."""
    if len(leaves) == 1:
        return {leaves[0]}
    rest = leaves[1:]
    found = set()
    for size in range(len(rest)):
        for others in itertools.combinations(rest, size):
            right = tuple(c for c in rest if c not in others)
            found |= {frozenset([a, b]) for a in trees((leaves[0], *others)) for b in trees(right)}
    return found


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_price_of_a_tree_is_the_number_of_trees(k: int) -> None:
    assert log_trees(k) == pytest.approx(math.log(len(trees(tuple(range(k))))), abs=1e-12)


@pytest.mark.parametrize("federation", [2, 3, 10])
def test_class_sets_have_total_probability_one(federation: int) -> None:
    total = sum(math.comb(federation, k) * math.exp(-log_class_sets(k, federation)) for k in range(2, federation + 1))
    assert total == pytest.approx(1.0)


def test_prices_enter_the_bound() -> None:
    posterior = tree_posterior(*parts(*fitted(60, 4)))
    paid, fixed_classes, nothing = (
        bound_tree(posterior, 10, 0.05), bound_tree(posterior, None, 0.05), bound_tree(posterior, None, 0.05, True)
    )  # fmt: skip
    assert paid.sign.bound > fixed_classes.sign.bound > nothing.sign.bound
    assert paid.price_tree == pytest.approx(math.log(15))
    assert nothing.price_tree == 0.0
    assert paid.price_classes == pytest.approx(math.log(9 * 210))
    with pytest.raises(ConfigError, match="4 classes out of 3"):
        bound_tree(posterior, 3)
    with pytest.raises(ConfigError, match="is not between 0 and 1"):
        bound_tree(posterior, 10, 1.5)
