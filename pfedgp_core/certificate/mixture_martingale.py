r"""A bound on the mean error of classifiers that were each fitted on the samples before the one they are tested on.

Let x_t be 1 where classifier h_t errs on the next sample, T of them, e their sum, and p the mean of the true errors p_t
of the h_t. h_t depends on the samples before alone, so for every l the product of exp(l x_t) / (1 - p_t + p_t exp(l))
has expectation 1. log(1 - p + p exp(l)) is concave in p, so

.. math::
    M(p) = \sum_j w_j \, e^{l_j e} (1 - p + p e^{l_j})^{-T}

is at most the mixture of these products, and exceeds 1 / delta with probability delta at most (Markov). All l_j are
negative, so M grows with p: the bound is the largest p with M(p) <= 1 / delta. Unlike Clopper and Pearson's, it
holds although every h_t has an error of its own, which may depend on all that happened before.
"""

import math

from pfedgp_core.certificate.levels import require_level
from pfedgp_core.errors import ConfigError

__all__ = ["TILTS", "mixture_bound"]

# Tilts l and their weights; -inf is the best one where there is no error at all.
TILTS = ((-math.inf, 0.4), (-3.0, 0.1), (-2.0, 0.1), (-1.4, 0.1), (-1.0, 0.1), (-0.7, 0.1), (-0.4, 0.1))
BISECTIONS = 60


def mixture_bound(errors: float, steps: int, delta: float) -> float:
    """Upper bound on the mean true error of the classifiers of all steps, with probability 1 - delta.

    Parameters
    ----------
    errors : float
        How many of the next samples were answered wrongly; not whole only in a calculation of what might be.
    steps : int
        Tested samples, T.
    delta : float

    Raises
    ------
    ConfigError
        T below 1, errors outside 0..T, or delta outside (0, 1).
    """
    if steps < 1 or not 0 <= errors <= steps:
        raise ConfigError(f"{errors} errors in {steps} steps are no error rate; give 0 to T errors in at least 1 step.")
    require_level("delta", delta)
    low, high = 0.0, 1.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if _log_mixture(middle, errors, steps) <= -math.log(delta):
            low = middle
        else:
            high = middle
    return high


def _log_mixture(p: float, errors: float, steps: int) -> float:
    """log M(p) for p < 1."""
    terms = []
    for tilt, weight in TILTS:
        if tilt == -math.inf:
            if errors == 0:
                terms.append(math.log(weight) - steps * math.log1p(-p))
        else:
            terms.append(math.log(weight) + tilt * errors - steps * math.log1p(p * math.expm1(tilt)))
    largest = max(terms)
    return largest + math.log(sum(math.exp(term - largest) for term in terms))
