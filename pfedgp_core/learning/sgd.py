"""SGD with momentum and weight decay, bit for bit as ``torch.optim.SGD`` computes it on single tensors.

The first optimiser of torch that a process makes imports torch's compiler: more than a second and 150 MB, which every
process that trains would pay for a few sums.
"""

from collections.abc import Iterable, Sequence
from typing import Protocol

import torch
from torch import Tensor

__all__ = ["SGD", "Optimiser"]


class Optimiser(Protocol):
    """What moves parameters by the gradients that lie at them."""

    def zero_grad(self) -> None:
        """Forget all gradients."""

    def step(self) -> None:
        """Move the parameters."""


class SGD:
    """The optimiser of one local update.

    Parameters
    ----------
    parameters : iterable of Tensor
        Those without a gradient are left as they are.
    learning_rate, momentum, weight_decay : float
    velocities : sequence of Tensor, optional
        The momentum that former steps left for each parameter, which changes in place; zeros if left out.
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        learning_rate: float,
        momentum: float,
        weight_decay: float,
        velocities: Sequence[Tensor] = (),
    ) -> None:
        self._parameters = list(parameters)
        self._learning_rate, self._momentum, self._weight_decay = learning_rate, momentum, weight_decay
        self._velocities: dict[int, Tensor] = dict(enumerate(velocities))

    def zero_grad(self) -> None:
        """Forget all gradients."""
        for parameter in self._parameters:
            parameter.grad = None

    @torch.no_grad()
    def step(self) -> None:
        """Move the parameters: v <- momentum v + gradient + weight_decay p, then p <- p - learning_rate v."""
        for index, parameter in enumerate(self._parameters):
            direction = parameter.grad
            if direction is None:
                continue
            if self._weight_decay:
                direction = direction.add(parameter, alpha=self._weight_decay)
            if self._momentum:
                if index in self._velocities:
                    direction = self._velocities[index].mul_(self._momentum).add_(direction)
                else:
                    # The sum above is no one else's; a gradient belongs to the caller.
                    direction = direction if self._weight_decay else direction.clone()
                    self._velocities[index] = direction
            parameter.add_(direction, alpha=-self._learning_rate)
