"""95 % intervals of shares, of means of shares and of the area under the ROC curve; each is within [0, 1].

They say how far the number may be off for other samples of the same sites, which are taken as independent.

Wilson (1927), "Probable inference, the law of succession, and statistical inference". Newcombe (2006), "Confidence
intervals for an effect size measure based on the Mann-Whitney statistic, part 2" (method 5). Zou and Donner (2008),
"Construction of confidence limits about effect measures".
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

__all__ = ["LEVEL", "Estimate", "auroc_estimate", "f1_estimate", "mean_estimate", "share_estimate"]

LEVEL = 0.95
_Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)
_HALVINGS = 60


class Estimate(NamedTuple):
    """A number with the ends of its interval."""

    value: float
    low: float
    high: float


def share_estimate(part: float, of: float) -> Estimate | None:
    """A share with Wilson's interval; None of nothing.

    Parameters
    ----------
    part, of : float
        Samples with the property, and all of them.
    """
    if of <= 0:
        return None
    share, z2 = part / of, _Z * _Z
    centre = (share + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z / (1 + z2 / of) * math.sqrt(share * (1 - share) / of + z2 / (4 * of * of))
    # Rounding alone would put the ends of 0 and 1 beside them.
    return Estimate(share, min(share, max(0.0, centre - half)), max(share, min(1.0, centre + half)))


def f1_estimate(tp: float, fp: float, fn: float) -> Estimate | None:
    """F1 = 2 J / (1 + J), with Wilson's interval of the share J = tp / (tp + fp + fn); None where all three are 0."""
    jaccard = share_estimate(tp, tp + fp + fn)
    return None if jaccard is None else Estimate(*(2 * j / (1 + j) for j in jaccard))


def mean_estimate(shares: Sequence[Estimate], least: float = 0.0) -> Estimate | None:
    """The mean of independent shares, by the recovery of their variances (Zou and Donner); None of nothing.

    Parameters
    ----------
    shares : sequence of Estimate
        Or other values from `least` to 1.
    least : float
    """
    if not shares:
        return None
    k = len(shares)
    value = math.fsum(s.value for s in shares) / k
    below = math.sqrt(math.fsum((s.value - s.low) ** 2 for s in shares)) / k
    above = math.sqrt(math.fsum((s.high - s.value) ** 2 for s in shares)) / k
    return Estimate(value, max(least, value - below), min(1.0, value + above))


def auroc_estimate(value: float, positives: float, negatives: float) -> Estimate | None:
    """The area with Newcombe's interval, the score form of Hanley and McNeil's; None without both kinds of samples.

    It holds all areas A with |A - value| <= z sqrt(V(A)),

        V(A) = A (1 - A) (1 + s (1 - A) / (2 - A) + s A / (1 + A)) / (positives negatives),
        s = (positives + negatives) / 2 - 1,

    so it has a width at areas of 0 and 1 too, where DeLong's has none.
    """
    if positives <= 0 or negatives <= 0:
        return None
    s = max(0.0, (positives + negatives) / 2 - 1)

    def inside(area: float) -> bool:
        spread = 1 + s * (1 - area) / (2 - area) + s * area / (1 + area)
        return (area - value) ** 2 <= _Z * _Z * area * (1 - area) * spread / (positives * negatives)

    def end(far: float) -> float:
        near = value
        for _ in range(_HALVINGS):
            middle = (near + far) / 2
            near, far = (middle, far) if inside(middle) else (near, middle)
        return near

    return Estimate(value, end(0.0), end(1.0))
