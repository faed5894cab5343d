"""One client's local update (paper, algorithm 1, ClientUpdate): received weights in, updated weights out."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import torch
from torch import nn

from pfedgp_core.client_tree import ClientTree, tree_classes
from pfedgp_core.config import Settings
from pfedgp_core.datasets import TensorSplit
from pfedgp_core.errors import NonFiniteError
from pfedgp_core.features import FeaturePass
from pfedgp_core.objectives import tree_loss
from pfedgp_core.shared import SharedState
from pfedgp_core.streams import Stream
from pfedgp_core.timing import PhaseTimer
from pfedgp_core.variants import make_variant

__all__ = ["UpdateResult", "local_update"]


@dataclass
class UpdateResult:
    """What a client reports beside the weights.

    Attributes
    ----------
    status : str
        ``ok``; ``no-data`` or ``single-class`` where there is nothing to learn and the weights are unchanged;
        ``no-step`` where every step was skipped.
    loss : float or None
        Loss of the first epoch, before any step.
    steps : int
        Optimiser steps taken.
    counters : Counter
        Recoverable events by name.
    seconds : dict
        Time by phase: ``network``, ``gp``.
    """

    status: str = "ok"
    loss: float | None = None
    steps: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)


def local_update(
    state: SharedState,
    data: TensorSplit,
    settings: Settings,
    stream: Stream,
    clock: Callable[[], float] = time.perf_counter,
) -> UpdateResult:
    """Train the shared parameters on one client's data; `state` changes in place.

    The tree is built from the features of the first training pass (no extra pass) and fixed for the local epochs. Each
    epoch is one full-batch step of a fresh SGD, because a GP needs its whole data set.

    Parameters
    ----------
    state : SharedState
    data : TensorSplit
        Inputs [N, ...] and class ids [N].
    settings : Settings
    stream : Stream
        Derived from (run seed, round, client).
    clock : callable
        Clock of the reported seconds.

    Raises
    ------
    NonFiniteError
        The features or the updated weights are not finite; nothing may be sent.
    """
    result, timer = UpdateResult(), PhaseTimer(clock)
    classes = tree_classes(data.labels, state.inducing, settings)
    if not len(data.labels) or len(classes) < 2:
        result.status = "single-class" if len(data.labels) else "no-data"
        return result
    optimiser = torch.optim.SGD(
        state.parameters(), settings.learning_rate, momentum=settings.momentum, weight_decay=settings.weight_decay
    )
    state.train()
    tree: ClientTree | None = None
    for epoch in range(settings.local_epochs):
        optimiser.zero_grad(set_to_none=True)
        with timer.phase("network"):
            passed = FeaturePass(state.network, data.inputs)
        with timer.phase("gp"):
            if tree is None:
                tree = ClientTree.build(passed.features.detach(), data.labels, classes, state.inducing, stream)
            variant = make_variant(settings, state.kernel(settings))
            points = tree.points(passed.features, state.inducing)
            loss = tree_loss(points, tree.tree, variant, settings, stream.child(epoch), result.counters)
            if loss is None:
                break
            loss.backward()
        value = loss.item()
        if epoch == 0:
            result.loss = value
        with timer.phase("network"):
            passed.backward()
            norm = nn.utils.clip_grad_norm_(state.parameters(), settings.clip_norm)
            if torch.isfinite(norm) and torch.isfinite(loss):
                optimiser.step()
                result.steps += 1
            else:
                result.counters["step_skipped"] += 1
    result.seconds = dict(timer.seconds)
    if not result.steps:
        result.status = "no-step"
    if not all(torch.isfinite(p).all() for p in state.parameters()):
        raise NonFiniteError("The updated weights are not finite: lower the learning rate.")
    return result
