"""What the variants with inducing inputs have in common: the nodes of a tree share one Gram matrix of them."""

import copy
from collections import Counter
from typing import Self

from pfedgp_core.tree.variants.base import ClientPoints, SidesOfTree, Variant
from pfedgp_core.tree.variants.shared_inducing import SharedInducing

__all__ = ["InducingVariant"]


class InducingVariant(Variant):
    """A variant whose nodes see inducing inputs.

    Attributes
    ----------
    shared : SharedInducing or None
        Those of the tree that `for_tree` was given; None without a tree, and for a tree of a single node.
    """

    shared: SharedInducing | None = None

    def for_tree(self, tree: SidesOfTree, points: ClientPoints, counters: Counter[str]) -> Self:
        """See ``Variant``."""
        if len(tree.nodes) < 2:
            return self
        bound = copy.copy(self)
        bound.shared = SharedInducing(tree, points, self.kernel, self.settings.gp.jitter, counters)
        return bound
