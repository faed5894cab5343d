"""Steps on the loss after one step of personalisation, f(w - alpha grad f(w)), as Per-FedAvg takes them."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from pfedgp_core.learning.local_sgd import end_of_steps, take_step
from pfedgp_core.learning.proximal import copies
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import Optimiser

__all__ = ["FORMS", "MetaLoss", "Triple", "meta_sgd"]

FORMS = ("fo", "hf", "exact")
Loss = Callable[[], Tensor]


class Triple(NamedTuple):
    """The losses of one step, each on a batch of its own: D of the inner step, D' after it, D'' of the curvature."""

    inner: Loss
    outer: Loss
    curved: Loss


class MetaLoss(NamedTuple):
    """How the gradient is computed.

    Attributes
    ----------
    form : {"fo", "hf", "exact"}
        With g the gradient at the end of the inner step: g itself; g - alpha H g with the Hessian H at the start, from
        the difference of two gradients (``hf``) or by differentiation.
    alpha : float
        Step size of the inner step.
    delta : float
        ``hf``: the two gradients are at w + delta g and w - delta g. In float32 not below 1e-3.
    """

    form: str
    alpha: float
    delta: float = 1e-3


def meta_sgd(
    parameters: Sequence[Tensor],
    steps: Iterable[Triple],
    meta: MetaLoss,
    optimiser: Optimiser,
    clip_norm: float,
    result: UpdateResult,
) -> None:
    """Take one step of the optimiser for each triple of batches, from where the inner step began.

    Parameters
    ----------
    parameters : sequence of Tensor
    steps : iterable of Triple
    meta : MetaLoss
    optimiser : Optimiser
        Of the outer steps.
    clip_norm : float
        Largest norm of the gradient of an outer step.
    result : UpdateResult

    Raises
    ------
    NonFiniteError
        The parameters are not finite afterwards.
    """
    for batch in steps:
        start = copies(parameters)
        loss, inner = _gradients(parameters, batch.inner, result)
        _move(parameters, start, inner, -meta.alpha)
        _, outer = _gradients(parameters, batch.outer, result)
        _move(parameters, start, outer, 0.0)
        total = outer
        if meta.form != "fo":
            if meta.form == "hf":
                bent = _differences(parameters, start, outer, batch.curved, meta.delta, result)
            else:
                bent = _products(parameters, outer, batch.curved, result)
            total = [g - meta.alpha * h for g, h in zip(outer, bent, strict=True)]
        optimiser.zero_grad()
        for p, g in zip(parameters, total, strict=True):
            p.grad = g
        take_step(parameters, loss, optimiser, clip_norm, result)
    end_of_steps(parameters, result)


def _gradients(parameters: Sequence[Tensor], loss_of: Loss, result: UpdateResult) -> tuple[Tensor, list[Tensor]]:
    loss = loss_of()
    result.gradients += 1
    found = torch.autograd.grad(loss, list(parameters), materialize_grads=True, allow_unused=True)
    return loss.detach(), list(found)


@torch.no_grad()
def _move(parameters: Sequence[Tensor], start: Sequence[Tensor], direction: Sequence[Tensor], length: float) -> None:
    """Put the parameters at start + length x direction; at the start itself, to the bit, for a length of 0."""
    for p, s, d in zip(parameters, start, direction, strict=True):
        p.copy_(s.add(d, alpha=length) if length else s)


def _differences(
    parameters: Sequence[Tensor],
    start: Sequence[Tensor],
    direction: Sequence[Tensor],
    loss_of: Loss,
    delta: float,
    result: UpdateResult,
) -> list[Tensor]:
    """The Hessian at the start times the direction, by a central difference."""
    sides = []
    for length in (delta, -delta):
        _move(parameters, start, direction, length)
        sides.append(_gradients(parameters, loss_of, result)[1])
    _move(parameters, start, direction, 0.0)
    return [(above - below) / (2 * delta) for above, below in zip(*sides, strict=True)]


def _products(
    parameters: Sequence[Tensor], direction: Sequence[Tensor], loss_of: Loss, result: UpdateResult
) -> list[Tensor]:
    """The same by differentiating the gradient, which costs as much as two gradients."""
    wanted = list(parameters)
    slopes = torch.autograd.grad(loss_of(), wanted, create_graph=True, materialize_grads=True, allow_unused=True)
    result.gradients += 2
    inner = sum((s * d).sum() for s, d in zip(slopes, direction, strict=True))
    assert isinstance(inner, Tensor)  # there is at least one parameter
    return list(torch.autograd.grad(inner, wanted, materialize_grads=True, allow_unused=True))
