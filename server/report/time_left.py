"""The time that a run has left: the rounds to come, and the evaluations of which it is known when they come."""

from collections import deque
from collections.abc import Mapping
from statistics import median
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.registry import is_gaussian

__all__ = ["TimeLeft"]

_LATEST = 9  # rounds, and evaluations, that are looked at
_NOTHING = 0.01  # of a round: an evaluation below that has ridden in the next round's exchange


class TimeLeft:
    """An estimate from the records of rounds: medians, as one that waited for a dead client says nothing of others.

    The first round is left out, because programs and data are loaded in it. An evaluation costs what the last ones did;
    before the first of them as much as the training of as many clients.

    Parameters
    ----------
    settings : Settings
    n_clients : int
        Of the run.
    side_by_side : bool
        Whether the clients compute on machines of their own, so that a round of many takes as long as one of few.
    """

    def __init__(self, settings: Settings, n_clients: int, side_by_side: bool) -> None:
        self._rounds, self._every = settings.rounds, settings.evaluate_every
        self._asked = min(settings.evaluate_clients or n_clients, n_clients)
        initial = settings.test_initial and is_gaussian(settings.method)  # the network before round 1 is tested too
        self._test = n_clients / max(1, self._asked) + initial  # evaluations that the final test costs
        self._guess = 1.0 if side_by_side else self._asked / max(1, min(settings.clients_per_round, n_clients))
        self._first: float | None = None
        self._plain, self._after = deque[float](maxlen=_LATEST), deque[float](maxlen=_LATEST)
        self._evaluations = deque[float](maxlen=_LATEST)

    def add(self, record: Mapping[str, Any]) -> None:
        """Take in a round's record."""
        t, seconds = record["round"], record["seconds"]
        evaluating = seconds.get("evaluate", 0.0)
        training = seconds["round"] - evaluating
        if t == 1:
            self._first = training
        elif self._is_due(t - 1):
            self._after.append(training)
        else:
            self._plain.append(training)
        if self._is_due(t):
            self._evaluations.append(evaluating)

    def seconds(self, t: int) -> float | None:
        """Seconds after round t to the end of the final test; None where nothing but the first round is known."""
        rounds = range(t + 1, self._rounds + 1)
        known = self._plain or self._after
        if not known and (rounds or self._first is None):
            return None
        usual = median(known) if known else self._first or 0.0
        evaluations = sum(map(self._is_due, rounds)) + self._test
        return usual * len(rounds) + evaluations * self._evaluation(usual)

    def _is_due(self, t: int) -> bool:
        return t % self._every == 0 or t == self._rounds

    def _evaluation(self, usual: float) -> float:
        if not self._evaluations:
            return self._guess * usual
        cost = median(self._evaluations)
        if cost > _NOTHING * usual:
            return cost
        return max(0.0, median(self._after) - usual) if self._after else 0.0
