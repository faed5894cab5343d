"""One client's local update (paper, algorithm 1, ClientUpdate): received weights in, updated weights out."""

import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.errors import NonFiniteError
from pfedgp_core.heads.make import make_head
from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.learning.sgd import SGD
from pfedgp_core.learning.timing import PhaseTimer
from pfedgp_core.model.features import FeaturePass
from pfedgp_core.model.shared import SharedState
from pfedgp_core.numerics.deferred import deferred, holds
from pfedgp_core.numerics.streams import Stream

__all__ = ["decayed", "local_update"]

LARGEST_SCALE_STEP = 0.1  # of a scale's logarithm, before momentum


def local_update(
    state: SharedState,
    data: TensorSplit,
    settings: Settings,
    stream: Stream,
    clock: Callable[[], float] = time.perf_counter,
    optimiser: SGD | None = None,
) -> UpdateResult:
    """Train the shared parameters on one client's data; `state` changes in place.

    Each local epoch is one full-batch step of a fresh SGD, because a GP needs its whole data set.

    On an accelerator all checks wait for the end (see `numerics.deferred`), where they and the loss are one transfer to
    the host; if one fails, the update is made again, check by check. Building a tree of more than two classes is one
    transfer more.

    Parameters
    ----------
    state : SharedState
    data : TensorSplit
        Inputs [N, ...] and class ids, or targets, [N].
    settings : Settings
    stream : Stream
        Derived from (run seed, round, client).
    clock : callable
        Clock of the reported seconds.
    optimiser : SGD, optional
        Of the state's parameters, with the momentum of former updates; a fresh one if left out.

    Raises
    ------
    NonFiniteError
        The features or the updated weights are not finite; nothing may be sent.
    """
    if data.inputs.device.type != "cpu" and optimiser is None:
        tensors = list(state.state_dict().values())
        received = [tensor.clone() for tensor in tensors]
        with deferred() as checks:
            result, loss = _update(state, data, settings, stream, clock, None)
        good, value = checks.settle(data.inputs.new_zeros(()) if loss is None else loss)
        if good:
            result.loss = None if loss is None else value
            return result
        for tensor, former in zip(tensors, received, strict=True):
            tensor.copy_(former)
    result, loss = _update(state, data, settings, stream, clock, optimiser)
    result.loss = None if loss is None else loss.item()
    return result


def decayed(values: Tensor, settings: Settings, steps: int) -> Tensor:
    """What `local_update` makes of shared values whose gradient is zero in all of so many steps, to the bit.

    Parameters
    ----------
    values : Tensor [n]
        All of one parameter, as which of them a processor computes together decides their last bit.
    settings : Settings
    steps : int
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # as at a client
    try:
        parameter = values.clone()
        optimiser = SGD([parameter], settings.learning_rate, settings.momentum, settings.weight_decay)
        parameter.grad = torch.zeros_like(parameter)
        for _ in range(steps):
            optimiser.step()
    finally:
        torch.set_num_threads(threads)
    return parameter


def _update(
    state: SharedState,
    data: TensorSplit,
    settings: Settings,
    stream: Stream,
    clock: Callable[[], float],
    optimiser: SGD | None,
) -> tuple[UpdateResult, Tensor | None]:
    """The update and, where a step was tried, its first loss, 0-d."""
    result, timer, first = UpdateResult(), PhaseTimer(clock), None
    if not len(data.labels):
        result.status = "no-data"
        return result, first
    training = make_head(settings).training(state, data.labels, stream, result.counters)
    if not training.learnable:
        result.status = "single-class"
        return result, first
    parameters = list(state.parameters())
    optimiser = optimiser or SGD(parameters, settings.learning_rate, settings.momentum, settings.weight_decay)
    state.train()
    for epoch in range(settings.local_epochs):
        optimiser.zero_grad()
        with timer.phase("network"):
            passed = FeaturePass(state.network, data.inputs)
        with timer.phase("gp"):
            loss = training.loss(passed.features, epoch)
            if loss is None:
                break
            loss.backward()
            result.gradients += 1
        first = loss.detach() if epoch == 0 else first
        with timer.phase("network"):
            passed.backward()
            norm = nn.utils.clip_grad_norm_(parameters, settings.clip_norm)
            if holds(torch.isfinite(norm) & torch.isfinite(loss)):
                _hasten_scales(state, settings)
                optimiser.step()
                result.steps += 1
            else:
                result.counters["step_skipped"] += 1
    result.seconds = dict(timer.seconds)
    if not result.steps:
        result.status = "no-step"
    if not holds(torch.stack([p.detach().sum() for p in parameters]).isfinite().all()):
        raise NonFiniteError("The updated weights are not finite: lower the learning rate.")
    return result, first


def _hasten_scales(state: SharedState, settings: Settings) -> None:
    """Give learned scales, which one step size for all would hardly move, a step size of their own, and a bound."""
    scales = state.log_scales
    if scales is not None and scales.grad is not None:
        limit = LARGEST_SCALE_STEP / settings.learning_rate
        scales.grad.mul_(settings.gp.scale_rate).clamp_(-limit, limit)
