"""Intervals of differences of shares: they hold the truth as often as they say, or more often."""

import numpy as np
import pytest

from pfedgp_core.metrics.gains import difference_estimate, mean_difference
from pfedgp_core.metrics.intervals import Estimate, share_estimate


def drawn(rng: np.random.Generator, n: int, before: float, after: float) -> Estimate:
    """A difference of the shares of two independent samples."""
    shares = [share_estimate(int(rng.binomial(n, p)), n) for p in (after, before)]
    return difference_estimate(*shares)  # type: ignore[arg-type]


@pytest.mark.parametrize(("n", "before", "after"), [(12, 0.5, 0.9), (60, 0.95, 0.97), (200, 0.4, 0.6)])
def test_differences_are_covered(n: int, before: float, after: float) -> None:
    rng = np.random.default_rng(0)
    inside = [
        found.low <= after - before <= found.high for found in (drawn(rng, n, before, after) for _ in range(2000))
    ]
    assert np.mean(inside) > 0.93


def test_the_mean_over_sites_is_covered_and_narrower() -> None:
    rng, inside, widths = np.random.default_rng(1), [], []
    for _ in range(1000):
        sites = [drawn(rng, 30, 0.6, 0.8) for _ in range(8)]
        found = mean_difference(sites)
        assert found is not None
        inside.append(found.low <= 0.2 <= found.high)
        widths.append((found.high - found.low) / np.mean([site.high - site.low for site in sites]))
    assert np.mean(inside) > 0.93
    assert np.mean(widths) == pytest.approx(8**-0.5, rel=0.05)


def test_ends_stay_within_what_a_difference_can_be() -> None:
    whole, nothing = Estimate(1.0, 0.3, 1.0), Estimate(0.0, 0.0, 0.7)
    assert difference_estimate(whole, nothing).high == 1.0
    assert difference_estimate(nothing, whole).low == -1.0
    assert mean_difference([]) is None
