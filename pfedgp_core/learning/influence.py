"""How far one client can move the model in a round: a long update is shortened, one beyond all measure is refused.

With d_i the update of client i, which is the vector that it sent minus the one that it received, and |model| the norm
of what was sent out (the largest of several, and at least 1)::

    r   = the norm of rank ceil(n / 2) among |d_1| ... |d_n|         (of two updates the smaller)
    h   = median of r over the last 20 rounds
    u   = max(r, h), but at most 2 h and at least |model| / 1000     (the usual norm)
    w_i = the client's weight in units of the usual one, at least 1  (1 but for aggregation = samples)

    d_i becomes d_i min(1, m u / (w_i |d_i|))                        m = clip-updates
    client i is refused where |d_i| > M u                            M = max-update-norm

So a mean of n updates moves by at most m u / n through any one of them, in the first round too. While at most half of
the n updates are wrong, r is at most the largest norm of the right ones; while fewer than half are, it is at least
their smallest. Rounds that are drawn full of wrong ones raise u at most twofold.

An update that comes alone is held against former rounds, u = h, and r is then min(|d_1|, 2 u): where one client is
drawn in each round, most rounds are honest, and their median is. The first of a run is held against |model| / 10, and
so is every refusal where fewer than three reply, because a site beside one that has nothing left to learn is no
attacker. Updates that hold noise (``dp-noise``) have its norm, which the settings tell: there are no former rounds and
no model in their u.
"""

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pfedgp_core.bounded_counts import bounded_counts
from pfedgp_core.config import Settings
from pfedgp_core.learning.aggregation import usual_of

__all__ = ["Influence", "Judgement", "model_norm", "shortened", "update_norm"]

FORMER_ROUNDS = 20  # whose usual norms count
GROWTH = 2.0  # of the usual norm over that of former rounds
FLOOR = 1e-3  # of the model's norm: clients that have learned all they can do not set the measure of the others
FEW_FLOOR = 0.1  # the same where fewer than three updates are there to be compared
BEYOND = 1000.0  # times the model's norm; refused whatever the others send
COMPARABLE = 3  # updates that can outvote one


@dataclass(frozen=True)
class Judgement:
    """What became of the updates of a round, each named by its position.

    Attributes
    ----------
    norms : float64 array [n]
        As they came.
    multiples : float64 array [n]
        The same in units of the usual norm.
    needed : float64 array [n]
        The smallest ``max-update-norm`` that lets each of them in; infinite where none does.
    usual : float or None
        The round's own usual norm (r above), which later rounds `recall`; None where it tells them nothing.
    refused : tuple of int
    factors : dict of int to float
        By which updates that are too long are to be `shortened`.
    """

    norms: np.ndarray
    multiples: np.ndarray
    needed: np.ndarray
    usual: float | None = None
    refused: tuple[int, ...] = ()
    factors: dict[int, float] = field(default_factory=dict)


class Influence:
    """The bound on single clients in one run; see the equations of this module.

    Parameters
    ----------
    settings : Settings
        ``clip-updates`` (0: nothing is shortened), ``max-update-norm``, ``aggregation`` and ``dp-*``.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._former: deque[float] = deque(maxlen=FORMER_ROUNDS)

    def recall(self, norms: Iterable[float | None]) -> None:
        """Take over the usual norms of rounds that are done, in order, as `Judgement` has them."""
        self._former.extend(norm for norm in norms if norm is not None)

    def judge(self, norms: Sequence[float], whole: float, size: int, counts: Sequence[int]) -> Judgement:
        """Hold the updates of a round against each other, and remember what was usual.

        Parameters
        ----------
        norms : sequence of float
            `update_norm` of each client's update.
        whole : float
            `model_norm` of what the clients started from.
        size : int
            Values of a vector.
        counts : sequence of int
            Training samples of the clients, as they say.
        """
        if not len(norms):
            return Judgement(np.zeros(0), np.zeros(0), np.zeros(0))
        measured = np.array(norms, dtype=np.float64)
        own, usual = self._usual(measured, whole, size)
        self.recall([own])
        refusable = usual if len(measured) >= COMPARABLE or self.settings.dp_noise else max(usual, FEW_FLOOR * whole)
        needed = np.where(measured > BEYOND * whole, math.inf, measured / refusable)
        refused = tuple(np.flatnonzero(needed > self.settings.max_update_norm).tolist())
        limits = (self.settings.clip_updates or math.inf) * usual / self._weights(counts)
        factors = {
            i: float(limits[i] / measured[i]) for i in np.flatnonzero(measured > limits).tolist() if i not in refused
        }
        return Judgement(measured, measured / usual, needed, own, refused, factors)

    def _weights(self, counts: Sequence[int]) -> np.ndarray:
        """How much each client weighs in the average, in units of the usual weight and at least 1, float64 [n]."""
        if self.settings.aggregation != "samples":
            return np.ones(len(counts))
        bounded = np.array(bounded_counts(counts), dtype=np.float64)
        return np.maximum(1.0, bounded / usual_of(bounded))

    def _usual(self, norms: np.ndarray, whole: float, size: int) -> tuple[float | None, float]:
        """The round's own usual norm where there is one, and the norm that its updates are held against."""
        own = usual_of(norms)
        if self.settings.dp_noise:
            expected = self.settings.dp_clip * math.sqrt(1.0 + self.settings.dp_noise**2 * size)
            return None, own if len(norms) >= COMPARABLE and own else expected
        former = float(np.median(self._former)) if self._former else None
        if len(norms) == 1:
            usual = max(FEW_FLOOR * whole if former is None else former, FLOOR * whole)
            return min(own, GROWTH * usual), usual
        usual = own if former is None else min(max(own, former), GROWTH * former)
        return own, max(usual, FLOOR * whole)


def model_norm(vectors: Iterable[np.ndarray]) -> float:
    """The largest norm of the vectors that clients started from, and at least 1; each object is measured once."""
    distinct = {id(vector): vector for vector in vectors}.values()
    return max([1.0, *(_norm(vector.astype(np.float64)) for vector in distinct)])


def update_norm(sent: np.ndarray, vector: np.ndarray) -> float:
    """The norm of the update from `sent` to `vector`, both of shape [P]."""
    delta = vector.astype(np.float64)
    delta -= sent
    return _norm(delta)


def shortened(sent: np.ndarray, vector: np.ndarray, factor: float) -> np.ndarray:
    """The vector with its update from `sent` times `factor`, float32 [P]."""
    delta = vector.astype(np.float64)
    delta -= sent
    delta *= factor
    delta += sent
    return delta.astype(np.float32)


def _norm(values: np.ndarray) -> float:
    """The norm of a float64 array, which is overwritten."""
    return math.sqrt(np.square(values, out=values).sum())  # numpy's own sum is the same for any number of threads
