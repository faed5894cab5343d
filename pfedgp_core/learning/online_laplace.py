"""A Gaussian over the weights, learned by a client's steps and multiplied at the server, as FOLA does.

At a client, with mean mu and diagonal precision Lambda from the server, each step on a batch b of its n samples first
adds |b|/n g^2 to the client's precision, g being the gradient of the batch's mean loss, and then moves the weights by
g + strength Lambda (theta - mu). At the server the precisions are averaged, and the means with their precisions.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.learning.local_sgd import local_sgd
from pfedgp_core.learning.proximal import ProximalSGD, copies
from pfedgp_core.learning.result import UpdateResult

__all__ = ["Gaussian", "LaplaceSGD", "Prior", "Weighted", "laplace_sgd", "product"]


class Weighted(NamedTuple):
    """A batch: its share of the client's samples, and its loss."""

    share: float
    loss: Callable[[], Tensor]


class Prior(NamedTuple):
    """The Gaussian that a client receives.

    Attributes
    ----------
    means, precisions : list of Tensor
        A tensor for each parameter.
    strength : float
        lambda divided by the number of the round, from 1.
    """

    means: list[Tensor]
    precisions: list[Tensor]
    strength: float


class LaplaceSGD(ProximalSGD):
    """The steps of one client; `precisions` grows with them, from a copy of the prior's.

    Parameters
    ----------
    parameters : sequence of Tensor
        At the prior's means.
    prior : Prior
    learning_rate, momentum, weight_decay : float

    Attributes
    ----------
    precisions : list of Tensor
    share : float
        Of the batch whose gradient comes next.
    """

    def __init__(
        self,
        parameters: Sequence[Tensor],
        prior: Prior,
        learning_rate: float,
        momentum: float = 0.0,
        weight_decay: float = 0.0,
    ) -> None:
        pull = [prior.strength * precision for precision in prior.precisions]
        super().__init__(parameters, prior.means, pull, learning_rate, momentum, weight_decay)
        self.precisions = copies(prior.precisions)
        self.share = 1.0

    @torch.no_grad()
    def step(self) -> None:
        """Add the squared gradient of the loss to the precisions, then see `ProximalSGD.step`."""
        for precision, p in zip(self.precisions, self._parameters, strict=True):
            if p.grad is not None:
                precision.add_(p.grad.square(), alpha=self.share)
        super().step()


def laplace_sgd(
    parameters: Sequence[Tensor],
    batches: Iterable[Weighted],
    optimiser: LaplaceSGD,
    clip_norm: float,
    result: UpdateResult,
) -> None:
    """A step for each batch; see `local_sgd`, also for what it raises. A clipped gradient counts as it is then."""

    def losses() -> Iterator[Callable[[], Tensor]]:
        for batch in batches:
            optimiser.share = batch.share
            yield batch.loss

    local_sgd(parameters, losses(), optimiser, clip_norm, result)


class Gaussian(NamedTuple):
    """A client's share in the average, from 0 to 1, and its mean and precision, float [P]."""

    share: float
    mean: np.ndarray
    precision: np.ndarray


def product(gaussians: Iterable[Gaussian], epsilon: float, keep_untouched: bool) -> tuple[np.ndarray, np.ndarray]:
    """The server's Gaussian from those of the clients.

    Parameters
    ----------
    gaussians : iterable of Gaussian
        At least one; their shares sum to 1. Each is used once.
    epsilon : float
        Keeps a division by 0 away.
    keep_untouched : bool
        A weight that no client's gradient touched, so that its precision is far below `epsilon`, becomes the clients'
        average; otherwise it becomes nearly 0, as in the official code.

    Returns
    -------
    mean, precision : float64 [P]
    """
    precision, top = np.zeros(1), np.zeros(1)
    for share, mean, own in gaussians:
        weighed = share * own.astype(np.float64)
        precision = precision + weighed
        top = top + (weighed + epsilon * share if keep_untouched else weighed) * mean
    return top / (precision + epsilon), precision
