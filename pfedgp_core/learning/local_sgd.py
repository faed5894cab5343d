"""Mini-batch SGD on one client's data: the step that methods with a softmax head share."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor, nn

from pfedgp_core.errors import NonFiniteError
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import Optimiser
from pfedgp_core.numerics.streams import Stream

__all__ = ["end_of_steps", "local_sgd", "mini_batches", "take_step"]


def mini_batches(count: int, size: int, steps: int, epochs: int, stream: Stream) -> Iterator[Tensor]:
    """Row numbers of one update's mini-batches.

    Every pass takes all rows once, in a new random order; its last batch may be smaller, so no sample is left out.

    Parameters
    ----------
    count : int
        Rows, at least one.
    size : int
        Rows of a batch.
    steps : int
        Batches in all; 0 for `epochs` whole passes.
    epochs : int
    stream : Stream

    Yields
    ------
    Tensor [size or fewer] of int64
    """
    taken, passes = 0, 0
    while taken < steps if steps else passes < epochs:
        for rows in stream.child("pass", passes).permutation(count).split(size):
            yield rows
            taken += 1
            if taken == steps:
                return
        passes += 1


def local_sgd(
    parameters: Sequence[Tensor],
    losses: Iterable[Callable[[], Tensor]],
    optimiser: Optimiser,
    clip_norm: float,
    result: UpdateResult,
) -> None:
    """Take one step of the optimiser for each loss; what it did is added to `result`.

    A step whose loss or gradient is not finite is skipped and counted (``step_skipped``).

    Parameters
    ----------
    parameters : sequence of Tensor
        Those that the optimiser moves.
    losses : iterable of callable
        Each gives the loss of one mini-batch, 0-d, under the parameters at that moment.
    optimiser : Optimiser
    clip_norm : float
        Largest norm of a gradient; ``math.inf`` never clips.
    result : UpdateResult

    Raises
    ------
    NonFiniteError
        The parameters are not finite afterwards.
    """
    for loss_of in losses:
        optimiser.zero_grad()
        loss = loss_of()
        loss.backward()
        result.gradients += 1
        take_step(parameters, loss, optimiser, clip_norm, result)
    end_of_steps(parameters, result)


def take_step(
    parameters: Sequence[Tensor], loss: Tensor, optimiser: Optimiser, clip_norm: float, result: UpdateResult
) -> None:
    """Clip the gradients that lie at the parameters and step, where they and the loss are finite; see `local_sgd`."""
    if result.loss is None:
        result.loss = loss.item()
    norm = nn.utils.clip_grad_norm_(parameters, clip_norm)
    if torch.isfinite(norm) and torch.isfinite(loss):
        optimiser.step()
        result.steps += 1
    else:
        result.counters["step_skipped"] += 1


def end_of_steps(parameters: Sequence[Tensor], result: UpdateResult) -> None:
    """Note whether any step was taken; NonFiniteError where the parameters are not finite."""
    result.status = "ok" if result.steps else "no-step"
    if not all(torch.isfinite(p).all() for p in parameters):
        raise NonFiniteError("The updated weights are not finite: lower the learning rate.")
