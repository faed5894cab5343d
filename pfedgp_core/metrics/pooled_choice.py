"""A place on a grid by the likelihoods of several clients, which no single one of them can move far."""

from collections.abc import Sequence

import numpy as np

from pfedgp_core.bounded_counts import bounded_counts

__all__ = ["client_shares", "pooled_place", "telling"]

_SEVERAL = 3  # clients; of two nobody knows which one is right
_FLAT = 1e-9


def telling(n: int, values: Sequence[float]) -> bool:
    """Whether a client's likelihoods say anything: there are samples, and it matters to them where on the grid."""
    return n > 0 and bool(np.ptp(values) > _FLAT)


def client_shares(counts: Sequence[int]) -> np.ndarray:
    """The part of its likelihoods with which each client counts: at most as many samples as the median one, [clients].

    Counts are above 0.
    """
    return np.array(bounded_counts(counts, multiple=1)) / counts


def pooled_place(likelihoods: np.ndarray, counts: Sequence[int], prior: np.ndarray, start: int, steps: int) -> int:
    """Return the place of the largest bounded sum over clients, and no further from `start` than all but one say.

    A client counts with at most as many samples as the median one. With three clients or more the sum is also taken
    without each of them. Of all results the one nearest to `start` (`start` itself where some are above and some below
    it) and `steps` beyond it is as far as the choice may go: so no client moves it by more than that further away than
    the others do without it.

    Parameters
    ----------
    likelihoods : float [clients, places]
    counts : sequence of int
        Samples of each client, above 0.
    prior : float [places]
        Log prior, added once.
    start : int
        The place without any client.
    steps : int
    """
    shares = [client_shares(counts)]
    if len(counts) >= _SEVERAL:
        others = ([*counts[:i], 0, *counts[i + 1 :]] for i in range(len(counts)))
        shares += [np.array(bounded_counts(each, multiple=1)) / counts for each in others]
    places = np.argmax(np.array(shares) @ likelihoods + prior, axis=1) - start
    nearest = 0 if places.min() < 0 < places.max() else int(min(places, key=abs))
    return start + min(max(int(places[0]), nearest - steps), nearest + steps)
