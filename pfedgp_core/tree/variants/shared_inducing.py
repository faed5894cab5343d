"""The inducing inputs of a tree's classes in the order of its leaves: those of a node are one block.

The child with more classes comes first, so that its block begins where its parent's begins and shares its Cholesky
factor (`gp.shared_gram`). Factors cost the root's and those of the smaller children.
"""

from collections import Counter
from functools import cached_property

import torch
from torch import Tensor

from pfedgp_core.gp.shared_gram import GramBlock, SharedGram
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.tree.variants.base import ClientPoints, Sides, SidesOfTree

__all__ = ["SharedInducing", "leaf_order"]


class SharedInducing:
    """Inducing inputs and their Gram matrix, for all nodes of a tree.

    Parameters
    ----------
    tree : SidesOfTree
        Over positions 0..k-1.
    points : ClientPoints
        Their inducing inputs.
    kernel : Kernel
    jitter : float
    counters : Counter
        Receives the numerical repairs.
    """

    def __init__(
        self, tree: SidesOfTree, points: ClientPoints, kernel: Kernel, jitter: float, counters: Counter[str]
    ) -> None:
        assert points.inducing is not None
        self.per_class = points.inducing.shape[1]
        self.order = leaf_order(tree)
        self._position = {c: i for i, c in enumerate(self.order)}
        self._rows = points.inducing_of(self.order).flatten(0, 1)
        self._kernel, self._jitter, self._counters = kernel, jitter, counters
        self._differentiable = torch.is_grad_enabled()

    @cached_property
    def _gram(self) -> SharedGram:
        with torch.set_grad_enabled(self._differentiable):
            return SharedGram(self._kernel.gram(self._rows, self._jitter), self._counters)

    def of(self, node: Sides) -> tuple[Tensor, GramBlock]:
        """The inducing inputs [m, d] of a node's classes, and their Gram matrix."""
        start, stop = (place * self.per_class for place in self._span(node))
        return self._rows[start:stop], GramBlock(self._gram, start, stop)

    def on_left(self, node: Sides) -> Tensor:
        """Which of a node's inducing inputs are on its left, bool [m]."""
        start, stop = self._span(node)
        sides = torch.tensor([c in node.left for c in self.order[start:stop]]).repeat_interleave(self.per_class)
        return sides.to(self._rows.device, non_blocking=True)

    def _span(self, node: Sides) -> tuple[int, int]:
        """Places of a node's classes in the order of the leaves, from the first to behind the last."""
        places = [self._position[c] for c in (*node.left, *node.right)]
        return min(places), max(places) + 1


def leaf_order(tree: SidesOfTree) -> list[int]:
    """The classes of a tree from leaf to leaf, of two children the one with more classes first."""
    inner = {frozenset((*node.left, *node.right)): node for node in tree.nodes}

    def below(classes: tuple[int, ...]) -> list[int]:
        node = inner.get(frozenset(classes))
        if node is None:
            return list(classes)
        large, small = sorted((node.left, node.right), key=len, reverse=True)
        return below(large) + below(small)

    return below(tree.classes)
