r"""Abstention with a stated risk: the lowest confidence from which answers are wrong in a share r of cases at most.

Candidates are tested in a fixed order, from the highest threshold on: of the m samples that are answered at a
threshold, e are wrong, and Clopper and Pearson's bound on their true share has to be r or less at level delta. The
first failure ends the search, and the last threshold that passed is taken. At the first threshold in this order whose
true risk is above r, the test passes with probability delta at most, and every wrong choice passes it: so the risk of
the chosen one is above r with probability delta at most, whatever the number of candidates (fixed-sequence testing,
Maurer et al. 1995).

The order must not depend on the tested samples. Where to begin is decided by other ones (`reference`): a high
threshold with few answers fails for want of samples, and would end the search before it has begun.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import beta

from pfedgp_core.certificate.binomial_bound import clopper_pearson
from pfedgp_core.certificate.levels import require_level
from pfedgp_core.errors import DataError
from pfedgp_core.metrics.classification import MetricSums

__all__ = ["Candidate", "SelectiveRule", "choose_threshold", "from_bins", "from_confidences", "needed_samples"]

LEVELS = 50  # thresholds of a site, evenly in the share of answers
_EDGE = 1e-6  # of a bin, as in `pfedgp_core.metrics.classification`


class Candidate(NamedTuple):
    """A threshold and what the tested samples say about it.

    Attributes
    ----------
    threshold : float
        Answers are given from this confidence on.
    answered, wrong : int
        Of the tested samples.
    """

    threshold: float
    answered: int
    wrong: int


@dataclass(frozen=True)
class SelectiveRule:
    """The threshold that was chosen.

    Attributes
    ----------
    threshold : float
    answered, wrong, samples : int
        Of the tested samples.
    bound : float
        At least the true share of wrong answers among those given, with probability 1 - delta.
    risk, delta : float
        As asked for.
    """

    threshold: float
    answered: int
    wrong: int
    samples: int
    bound: float
    risk: float
    delta: float

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, fit for JSON."""
        return dict(vars(self))


def needed_samples(risk: float, delta: float) -> int:
    """The fewest answers without an error whose bound is `risk`.

    Raises
    ------
    ConfigError
        Risk or delta outside (0, 1).
    """
    for name, value in (("risk", risk), ("delta", delta)):
        require_level(name, value, 0.02)
    return math.ceil(math.log(delta) / math.log1p(-risk))


def choose_threshold(candidates: Sequence[Candidate], samples: int, risk: float, delta: float) -> SelectiveRule:
    """The last candidate that passes before the first that fails.

    Parameters
    ----------
    candidates : sequence of Candidate
        In an order that does not depend on the tested samples, usually with falling thresholds.
    samples : int
        Tested samples, answered or not.
    risk, delta : float

    Raises
    ------
    DataError
        The first candidate fails: nothing is proved about any.
    ConfigError
        Risk or delta outside (0, 1).
    """
    needed, chosen = needed_samples(risk, delta), None
    for threshold, answered, wrong in candidates:
        bound = clopper_pearson(wrong, answered, delta) if answered else 1.0
        if bound > risk:
            break
        chosen = SelectiveRule(threshold, answered, wrong, samples, bound, risk, delta)
    if chosen is None:
        first = candidates[0] if candidates else Candidate(1.0, 0, 0)
        raise DataError(
            f"No threshold is proved to have a risk of {risk:g} with probability {1 - delta:g}: of {samples} samples "
            f"{first.answered} have confidence {first.threshold:.3g} or more and {first.wrong} of these are wrong, and "
            f"at least {needed} answers without an error are needed; give more labelled samples, or a larger --risk or "
            "--delta."
        )
    return chosen


def from_confidences(
    confidence: np.ndarray, wrong: np.ndarray, reference: tuple[np.ndarray, np.ndarray], delta: float
) -> list[Candidate]:
    """Candidates at a site.

    Parameters
    ----------
    confidence, wrong : arrays [n], float and bool
        Of the tested samples.
    reference : (array [m], array [m])
        The same of other samples, at least one. Thresholds are quantiles of their confidences.
    delta : float
    """
    others, missed = reference
    thresholds = np.unique(np.quantile(others, np.linspace(0, 1, LEVELS + 1)))[::-1]
    # The last one answers everything, so a sample below all others' confidence is answered, too.
    thresholds[-1] = 0.0
    answered = np.array([(others >= t).sum() for t in thresholds])
    errors = np.array([missed[others >= t].sum() for t in thresholds])
    kept = thresholds[_first(answered, errors, len(others), len(confidence), delta) :]
    return [Candidate(float(t), int((confidence >= t).sum()), int((wrong & (confidence >= t)).sum())) for t in kept]


def from_bins(tested: MetricSums, reference: MetricSums, delta: float) -> list[Candidate]:
    """Candidates of a federation: the lower edges of the bins of confidence that its clients summed.

    Parameters
    ----------
    tested, reference : MetricSums
        Of the test and of the validation data, at one temperature. Without the latter the highest bin is the first.
    delta : float
    """
    bins = len(tested.bin_count)
    thresholds = [float(np.nextafter((i + _EDGE) / bins, 1.0)) if i else 0.0 for i in range(bins)][::-1]
    answered, right = (np.asarray(counts)[::-1].cumsum() for counts in (tested.bin_count, tested.bin_correct))
    others, known = (np.asarray(counts)[::-1].cumsum() for counts in (reference.bin_count, reference.bin_correct))
    first = _first(others, others - known, reference.n, tested.n, delta) if reference.n else 0
    every = [Candidate(t, int(a), int(a - r)) for t, a, r in zip(thresholds, answered, right, strict=True)]
    return every[first:]


def _first(answered: np.ndarray, wrong: np.ndarray, reference: int, samples: int, delta: float) -> int:
    """The threshold, by its place, whose bound is expected to be the smallest from the reference's counts at each."""
    expected = np.maximum(answered / reference * samples, 1e-9)
    errors = expected * (wrong + 0.5) / (answered + 1)  # few of the reference say little
    return int(beta.isf(delta, errors + 1, np.maximum(expected - errors, 1e-9)).argmin())
