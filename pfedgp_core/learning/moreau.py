"""Steps on the Moreau envelope of a client's loss, as pFedMe takes them.

F(w) = min_theta L(theta) + lambda/2 |theta - w|^2, whose gradient is lambda (w - theta(w)).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pfedgp_core.learning.local_sgd import local_sgd
from pfedgp_core.learning.proximal import ProximalSGD, copies
from pfedgp_core.learning.result import UpdateResult

__all__ = ["Envelope", "moreau_sgd"]


class Envelope(NamedTuple):
    """What the steps depend on.

    Attributes
    ----------
    strength : float
        lambda.
    inner_steps : int
        K, steps towards theta(w) on each batch.
    personal_rate : float
        Step size of these.
    rate : float
        Step size of w.
    decay : float
        Weight decay of theta; 0 in the paper.
    """

    strength: float
    inner_steps: int
    personal_rate: float
    rate: float
    decay: float = 0.0


def moreau_sgd(
    parameters: Sequence[Tensor],
    losses: Iterable[Callable[[], Tensor]],
    envelope: Envelope,
    clip_norm: float,
    result: UpdateResult,
) -> list[Tensor]:
    """For each batch: K steps of theta towards theta(w), theta going on from the batch before; then one step of w.

    Parameters
    ----------
    parameters : sequence of Tensor
        w before; theta, the personal model, afterwards.
    losses : iterable of callable
        As in `local_sgd`, a batch each.
    envelope : Envelope
    clip_norm : float
        Largest norm of a gradient of the loss.
    result : UpdateResult

    Returns
    -------
    list of Tensor
        w afterwards, in the order of the parameters.

    Raises
    ------
    NonFiniteError
        theta is not finite afterwards.
    """
    w = copies(parameters)
    optimiser = ProximalSGD(parameters, w, envelope.strength, envelope.personal_rate, weight_decay=envelope.decay)

    def repeated() -> Iterator[Callable[[], Tensor]]:
        for loss in losses:
            for _ in range(envelope.inner_steps):
                yield loss
            with torch.no_grad():
                for anchor, theta in zip(w, parameters, strict=True):
                    anchor.sub_(anchor - theta, alpha=envelope.rate * envelope.strength)

    local_sgd(parameters, repeated(), optimiser, clip_norm, result)
    return w
