"""How much of a long run's states its running average keeps, where the user does not say: with a shared head.

Twenty mini-batches at a few clients move a head and its network by more than a round teaches them, once the run is
long: the states then scatter around what they have learned, and their mean is better than the last one
(docs/results.md, CIFAR-10 of 1000 rounds).
"""

from collections.abc import Mapping
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.setting import Value

__all__ = ["KEY", "LONG", "averaging", "averaging_note"]

KEY = "average-states"
LONG = 200  # rounds from which an average is taken
SHARE = 0.05  # of the rounds, that the average mostly is of


def averaging(chosen: Mapping[str, Any]) -> dict[str, Value]:
    """The setting of a running average over a twentieth of a run's rounds: ``average-states`` = 1 - 20 / rounds.

    Parameters
    ----------
    chosen : mapping
        Flat keys of what the user gives, ``rounds`` among them or its default.

    Returns
    -------
    dict
        Empty where the run is shorter than `LONG`.
    """
    rounds = chosen.get("rounds", Settings.rounds)
    if type(rounds) is not int or rounds < LONG:
        return {}
    return {KEY: round(1 - 1 / (SHARE * min(rounds, 100_000)), 4)}


def averaging_note(chosen: Mapping[str, Any]) -> str:
    """A line that says so, and how to get the last state; empty where the user has said it, or nothing is averaged."""
    found = averaging(chosen)
    if KEY in chosen or not found:
        return ""
    return (
        f"The model is an average of the states, with {found[KEY]:g} on the former ones; the last one: --set {KEY}=0."
    )
