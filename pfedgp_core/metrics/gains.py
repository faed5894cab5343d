"""95 % intervals of differences of shares and of their means over sites.

Zou and Donner (2008), "Construction of confidence limits about effect measures": the variances on either side are
recovered from the intervals of the two shares. Both shares of a site are of the same samples, and the interval takes
them as independent: it is too wide where the same samples are easy for both, and never knows which ones these were.
"""

import math
from collections.abc import Sequence

from pfedgp_core.metrics.intervals import Estimate, mean_estimate

__all__ = ["difference_estimate", "mean_difference"]


def difference_estimate(after: Estimate, before: Estimate) -> Estimate:
    """The difference of two shares, `after` minus `before`, in [-1, 1]."""
    value = after.value - before.value
    below = math.hypot(after.value - after.low, before.high - before.value)
    above = math.hypot(after.high - after.value, before.value - before.low)
    return Estimate(value, max(-1.0, value - below), min(1.0, value + above))


def mean_difference(differences: Sequence[Estimate]) -> Estimate | None:
    """The mean of the differences of several sites, which are independent of each other; None of none."""
    return mean_estimate(differences, least=-1.0)
