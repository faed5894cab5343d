"""Whether one model is better than another on the clients' validation data, in a way that no client decides alone.

What counts is each client's change from the one model to the other, c_i, weighted by its samples w_i. A client that
says nothing but lies changes far more than the others do. So with at least three clients c_i is cut to

    [l - s / w_i, h + s / w_i],    l, h: the changes of rank k + 1 from below and from above,  k = max(1, n // 5),

where s is one sample for a metric that counts samples and 0 for any other. Without a cut the sum of all w_i c_i is
positive where the pooled metric is better. With it, k clients move the sum by no more than the others' own changes.

Where other clients are drawn for each evaluation, too few measure both models, and the pooled metrics decide.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pfedgp_core.bounded_counts import bounded_counts

__all__ = ["FEWEST", "Measured", "improves"]

FEWEST = 3  # of two clients nobody knows which one is right
_SHARE = 5  # one of so many clients is cut at each end
_ROUNDING = 1e-9  # of a mean over samples; a smaller sum of changes is none


@dataclass(frozen=True)
class Measured:
    """One model on one client's validation data.

    Attributes
    ----------
    n : int
        Samples, from 1.
    score, log_likelihood : float
        Means over them; larger where the model is better. The first one decides, the second one between equals.
    """

    n: int
    score: float
    log_likelihood: float


def improves(model: Mapping[str, Measured], former: Mapping[str, Measured], sample: float) -> bool | None:
    """Whether a model is better than a former one; None where too few clients measured both to say so.

    These are fewer than `FEWEST`, or than half of those that measured one of them.

    Parameters
    ----------
    model, former : mapping of str to Measured
        By the client's name.
    sample : float
        How much one sample changes a client's sum of the score; 0 for a score that does not count samples.
    """
    both = sorted(model.keys() & former.keys())
    if len(both) < max(FEWEST, len(model) / 2, len(former) / 2):
        return None
    weights = np.array(bounded_counts([min(model[name].n, former[name].n) for name in both]), dtype=float)
    scores = np.array([model[name].score - former[name].score for name in both])
    likelihoods = np.array([model[name].log_likelihood - former[name].log_likelihood for name in both])
    for changes, slack in ((scores, sample / weights), (likelihoods, 0.0 / weights)):
        mean = float(weights @ _cut(changes, slack) / weights.sum())
        if abs(mean) > _ROUNDING:
            return mean > 0
    return False


def _cut(changes: np.ndarray, slack: np.ndarray) -> np.ndarray:
    """Changes [n] cut to the others', and so much more."""
    ranked, beyond = np.sort(changes), max(1, len(changes) // _SHARE)
    cut: np.ndarray = np.clip(changes, ranked[beyond] - slack, ranked[-1 - beyond] + slack)
    return cut
