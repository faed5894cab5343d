"""The running average of the server's states: what a run evaluates and keeps in place of its last state."""

import numpy as np

__all__ = ["running_average"]


def running_average(former: np.ndarray, state: np.ndarray, t: int, weight: float) -> np.ndarray:
    """Take one more state into an exponential running average (Polyak and Juditsky 1992, with a forgetting factor).

        a_t = w_t a_{t-1} + (1 - w_t) s_t                             w_t = min(w, t / (t + 10))

    In the first rounds the former states weigh less than `weight`: the average forgets the random network that it
    began with.

    Parameters
    ----------
    former : float32 [P]
        a_{t-1}; before round 1 the initial state.
    state : float32 [P]
        s_t, after round t.
    t : int
        The round, from 1.
    weight : float
        w, in [0, 1).

    Returns
    -------
    float32 [P]
    """
    kept = np.float32(min(weight, t / (t + 10)))
    average: np.ndarray = kept * former + (np.float32(1) - kept) * state
    return average
