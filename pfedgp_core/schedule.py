"""When a run evaluates: after every ``evaluate-every`` rounds, and after its last one."""

import math

from pfedgp_core.config import Settings

__all__ = ["evaluations", "is_evaluated"]


def is_evaluated(settings: Settings, t: int) -> bool:
    """Whether the model of round t, counted from 1, is evaluated on the clients' validation data."""
    return t % settings.evaluate_every == 0 or t == settings.rounds


def evaluations(settings: Settings) -> int:
    """The rounds of a run that `is_evaluated` names."""
    return math.ceil(settings.rounds / settings.evaluate_every)
