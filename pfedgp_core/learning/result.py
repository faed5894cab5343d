"""The report of a local update beside its vector, the same for all methods."""

from collections import Counter
from dataclasses import dataclass, field

__all__ = ["UpdateResult"]


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
    gradients : int
        Gradients computed: backward passes over a batch, or over all data for pFedGP.
    counters : Counter
        Recoverable events by name.
    seconds : dict
        Time by phase: ``network``, ``gp``.
    """

    status: str = "ok"
    loss: float | None = None
    steps: int = 0
    gradients: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)
