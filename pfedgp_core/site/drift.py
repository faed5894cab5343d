r"""An alarm without labels: a test martingale that grows where new samples are unlike the site's own.

Each new sample has a score, and a p-value: its rank among all scores before it, ties broken at random. Where the
samples are exchangeable these p-values are independent and uniform (Vovk et al. 2005). A player bets on them with the
stake :math:`1 + \varepsilon (p - 1/2)`, for :math:`\varepsilon` in -1, 0, 1, and moves a hundredth of the capital
between the three at each step (Vovk's simple jumper). The capital ever grows a hundredfold with probability 1/100 at
most, however long the stream is (Ville's inequality).

Two scores are watched, half of the capital on each: the entropy of the prediction, and the distance from the site's
samples (`typicality`). The scores of the site's own samples, each from all others, are the beginning of the stream.
They are from one sample fewer than those of new ones, so exchangeability holds only nearly.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["ALARM", "MOST", "JumperState", "advance", "first_alarm"]

ALARM = 100.0
MOST = 1e100  # what the player has beyond it is put aside, so that an alarm that nobody hears does not end at infinity
JUMP = 0.01
STAKES = np.array([-1.0, 0.0, 1.0])


@dataclass(frozen=True, eq=False)
class JumperState:
    """What is kept of a stream of scores.

    Attributes
    ----------
    scores : numpy.ndarray, float64 [S, m]
        Of S kinds, so far, the site's own first.
    capital : numpy.ndarray, float64 [S, 3]
        For each kind and stake; its sum is 1 at the beginning.
    """

    scores: np.ndarray
    capital: np.ndarray

    @classmethod
    def start(cls, reference: np.ndarray) -> "JumperState":
        """Before the first new sample, from the scores [S, n] of the site's own."""
        kinds = len(reference)
        return cls(reference, np.full((kinds, len(STAKES)), 1 / (kinds * len(STAKES))))

    @property
    def value(self) -> float:
        """By how much the capital has grown."""
        return float(self.capital.sum())


def advance(state: JumperState, scores: np.ndarray, rng: np.random.Generator) -> tuple[JumperState, np.ndarray]:
    """Watch further samples.

    Parameters
    ----------
    state : JumperState
    scores : numpy.ndarray, float64 [S, T]
    rng : numpy.random.Generator
        Breaks ties.

    Returns
    -------
    JumperState
    numpy.ndarray, float64 [T]
        The capital after each sample.
    """
    known, capital = state.scores, state.capital
    values = []
    for column in scores.T:
        one = column[:, None]
        larger, equal = (known > one).sum(1), (known == one).sum(1)
        p = (larger + rng.uniform(size=len(column)) * (equal + 1)) / (known.shape[1] + 1)
        moved = (1 - JUMP) * capital + JUMP * capital.mean(1, keepdims=True)
        capital = moved * (1 + STAKES * (p[:, None] - 0.5))
        if capital.sum() > MOST:
            capital *= MOST / capital.sum()
        known = np.concatenate([known, one], axis=1)
        values.append(capital.sum())
    return JumperState(known, capital), np.array(values)


def first_alarm(values: Sequence[float] | np.ndarray) -> int | None:
    """Place of the first sample at which the capital has grown a hundredfold; None where it has not."""
    reached = np.flatnonzero(np.asarray(values) >= ALARM)
    return int(reached[0]) if len(reached) else None
