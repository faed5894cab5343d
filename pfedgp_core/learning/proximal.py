"""SGD that is drawn towards a point: the step of FedProx, Ditto, pFedMe and FOLA."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from pfedgp_core.learning.sgd import SGD

__all__ = ["ProximalSGD", "copies"]


class ProximalSGD(SGD):
    """SGD on loss + 1/2 sum strength (p - anchor)^2, of which the gradients hold the loss alone.

    A strength of 0 is `SGD` to the bit.

    Parameters
    ----------
    parameters : iterable of Tensor
    anchors : sequence of Tensor
        A point for each parameter; the caller may move it between steps.
    strength : float or sequence of Tensor
        One for all values, or one for each.
    learning_rate, momentum, weight_decay : float
    """

    def __init__(
        self,
        parameters: Iterable[Tensor],
        anchors: Sequence[Tensor],
        strength: float | Sequence[Tensor],
        learning_rate: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(parameters, learning_rate, momentum, weight_decay)
        self._anchors, self._strength = anchors, strength

    @torch.no_grad()
    def step(self) -> None:
        """Add the pull to the gradients and move the parameters, see `SGD.step`."""
        if self._strength != 0.0:
            for i, (p, anchor) in enumerate(zip(self._parameters, self._anchors, strict=True)):
                if p.grad is not None:
                    p.grad.add_(self._pull(i, p - anchor))
        super().step()

    @torch.no_grad()
    def penalty(self) -> float:
        """1/2 sum strength (p - anchor)^2 at the present parameters."""
        offsets = [p - anchor for p, anchor in zip(self._parameters, self._anchors, strict=True)]
        return 0.5 * sum(float((self._pull(i, d) * d).sum()) for i, d in enumerate(offsets))

    def _pull(self, i: int, offset: Tensor) -> Tensor:
        return offset * (self._strength if isinstance(self._strength, float) else self._strength[i])


def copies(tensors: Iterable[Tensor]) -> list[Tensor]:
    """A copy of each tensor's present values."""
    return [t.detach().clone() for t in tensors]
