"""The time that a run has left: the rounds to come, the evaluations, of which it is known when they come, the end."""

from collections import deque
from collections.abc import Mapping
from statistics import median
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.metrics.output_scale import scale_grid
from pfedgp_core.registry import TASKS, is_gaussian
from pfedgp_core.schedule import is_evaluated

__all__ = ["TimeLeft"]

_LATEST = 9  # rounds, and evaluations, that are looked at
_NOTHING = 0.01  # of a round: an evaluation below that has ridden in the next round's exchange


class TimeLeft:
    """An estimate from the records of rounds: medians, as one that waited for a dead client says nothing of others.

    The first round is left out, because programs and data are loaded in it. An evaluation costs what the last ones did;
    before the first of them as much as the training of as many clients. Where evaluations ride in the exchange of the
    next round, those of the end do not: each is an exchange of its own, and costs as much as a round until one was
    measured. At the end are the choice of an output scale, the test, the sites' own classifiers and the test of the
    network before round 1, as far as the run has them.

    Parameters
    ----------
    settings : Settings
    n_clients : int
        Of the run.
    own_data : bool
        Whether the clients are sites with data of their own. They compute on machines of their own, so that a round of
        many takes as long as one of few.
    """

    def __init__(self, settings: Settings, n_clients: int, own_data: bool) -> None:
        self._settings = settings
        asked = min(settings.evaluate_clients or n_clients, n_clients)
        self._guess = 1.0 if own_data else asked / max(1, min(settings.clients_per_round, n_clients))
        self._end = _final_evaluations(settings, own_data, 1.0 if own_data else n_clients / max(1, asked))
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
        elif is_evaluated(self._settings, t - 1):
            self._after.append(training)
        else:
            self._plain.append(training)
        if is_evaluated(self._settings, t):
            self._evaluations.append(evaluating)

    def seconds(self, t: int) -> float | None:
        """Seconds after round t to the end of the final test; None where nothing but the first round is known."""
        rounds = range(t + 1, self._settings.rounds + 1)
        known = self._plain or self._after
        if not known and (rounds or self._first is None):
            return None
        usual = median(known) if known else self._first or 0.0
        due = sum(is_evaluated(self._settings, r) for r in rounds)
        last = min(1, len(rounds))  # no round comes after it, in whose exchange its evaluation could ride
        return usual * len(rounds) + (due - last) * self._evaluation(usual) + (last + self._end) * self._alone(usual)

    def _evaluation(self, usual: float) -> float:
        """Seconds of an evaluation between rounds."""
        if not self._evaluations:
            return self._guess * usual
        cost = median(self._evaluations)
        return cost if cost > _NOTHING * usual else self._riding(usual)

    def _riding(self, usual: float) -> float:
        return max(0.0, median(self._after) - usual) if self._after else 0.0

    def _alone(self, usual: float) -> float:
        """Seconds of an evaluation that is an exchange of its own."""
        if measured := [cost for cost in self._evaluations if cost > _NOTHING * usual]:
            return median(measured)
        return max(self._guess * usual, self._riding(usual))


def _final_evaluations(settings: Settings, own_data: bool, whole: float) -> float:
    """What follows the last round, in evaluations between rounds; one of all clients costs `whole` of them."""
    gaussian, classes = is_gaussian(settings.method), bool(TASKS[settings.task].classes)
    scales = len(scale_grid(settings)) if settings.gp.choose_scale and gaussian and classes else 0
    classifiers = own_data and settings.personalise and gaussian
    return whole * (1 + scales + classifiers) + (settings.test_initial and gaussian and classes)
