"""One Gram matrix for all nodes of a tree: every node uses a diagonal block of it.

The matrix is computed once. A block that begins where a larger one begins has the leading block of its Cholesky factor.
The gradients of all blocks are gathered in one buffer: through slices, autograd would make a matrix of full size for
every block.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from pfedgp_core.numerics.linalg import safe_cholesky

__all__ = ["GramBlock", "SharedGram"]


class SharedGram:
    """A Gram matrix with jitter, and the Cholesky factors of its blocks.

    Parameters
    ----------
    gram : Tensor [M, M]
        Its gradient arrives once the backward passes of all blocks are through.
    counters : Counter, optional
        Receives the numerical repairs.
    """

    def __init__(self, gram: Tensor, counters: Counter[str] | None = None) -> None:
        self.values, self.counters = gram.detach(), counters
        self.gradient: Tensor | None = None
        # Autograd runs the backward pass of the token after those of all blocks, which use it.
        self.token: Tensor = _Gather.apply(gram, self)
        self._factors: dict[int, Tensor] = {}

    def factor(self, start: int, stop: int) -> Tensor:
        """Lower Cholesky factor of the block [stop - start, stop - start], without gradient.

        Of the blocks that begin at `start`, the largest should be asked for first.
        """
        known = self._factors.get(start)
        if known is None or len(known) < stop - start:
            known = self._factors[start] = safe_cholesky(self.values[start:stop, start:stop], self.counters)
        return known[: stop - start, : stop - start]

    def gathered(self, start: int, stop: int) -> Tensor:
        """Where the gradient of a block is added up, [stop - start, stop - start]."""
        if self.gradient is None:
            self.gradient = torch.zeros_like(self.values)
        return self.gradient[start:stop, start:stop]


@dataclass(frozen=True)
class GramBlock:
    """A diagonal block: rows and columns `start` to `stop` of a shared Gram matrix."""

    shared: SharedGram
    start: int
    stop: int

    @cached_property
    def gram(self) -> Tensor:
        """The block with its gradient, [stop - start, stop - start]."""
        block: Tensor = _Block.apply(self.shared.token, self.shared, self.start, self.stop)
        return block

    def gather(self, left: Tensor, right: Tensor, alpha: float) -> None:
        """In a backward pass of what used the shared matrix's token: add alpha left right to the block's gradient."""
        self.shared.gathered(self.start, self.stop).addmm_(left, right, alpha=alpha)

    @cached_property
    def factor(self) -> Tensor:
        """Its lower Cholesky factor, without gradient."""
        return self.shared.factor(self.start, self.stop).contiguous()


class _Gather(Function):
    """A token in place of the matrix, 0-d; its backward pass hands over the gradients that the blocks have left."""

    @staticmethod
    def forward(ctx: Any, gram: Tensor, shared: SharedGram) -> Tensor:
        ctx.shared = shared
        return gram.new_zeros(())

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, _: Tensor) -> tuple[Tensor | None, None]:
        gathered, ctx.shared.gradient = ctx.shared.gradient, None
        return gathered, None


class _Block(Function):
    @staticmethod
    def forward(ctx: Any, token: Tensor, shared: SharedGram, start: int, stop: int) -> Tensor:
        ctx.shared, ctx.rows = shared, (start, stop)
        return shared.values[start:stop, start:stop]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None, None]:
        ctx.shared.gathered(*ctx.rows).add_(gradient)
        return gradient.new_zeros(()), None, None, None
