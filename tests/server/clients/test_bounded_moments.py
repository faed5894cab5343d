"""No site moves the normalisation of the others far, and who is far is named."""

import numpy as np
import pytest

from pfedgp_core.bounded_counts import bounded_counts
from pfedgp_core.config import Settings
from pfedgp_core.data.spec import pooled_moments
from pfedgp_core.data.usual_moments import REACH
from server.clients.bounded_moments import bounded_moments, far_moments
from server.clients.membership import common_spec
from tests.server.clients.test_input_scales import hello as site

HONEST = [(5.0, 1.0), (5.2, 1.1), (4.9, 0.9), (5.1, 1.0)]


def five(mean: float, std: float = 1.0, n: int = 100):
    """Four honest sites, and one that claims such moments of each of two features."""
    sites = [site(f"ward-{i}", (m, 2 * m), (s, s)) for i, (m, s) in enumerate(HONEST)]
    return [*sites, site("ward-x", (mean, 10.0), (std, 1.0), n_train=n)]


def test_honest_moments_count_as_they_are() -> None:
    means, stds = bounded_moments(five(5.0))
    assert np.array_equal(means[:, 0], [*(m for m, _ in HONEST), 5.0])
    assert np.array_equal(stds[:, 0], [*(s for _, s in HONEST), 1.0])


@pytest.mark.parametrize("mean", [305.0, -295.0, 5000.0])
@pytest.mark.parametrize("n", [100, 10**8])
def test_one_site_moves_the_normalisation_by_a_bounded_part(mean: float, n: int) -> None:
    spec = common_spec(five(mean, n=n), Settings())
    assert abs(spec.mean[0] - 5.0) < REACH * 3 / 7 + 0.2
    assert spec.std[0] < 2.5


def test_without_the_bound_it_moves_far() -> None:
    sites = five(305.0, n=10**8)
    counts = bounded_counts([hello.n_train for hello in sites])
    mean, _ = pooled_moments(counts, [h.mean for h in sites], [h.std for h in sites])
    assert mean[0] > 100


def test_a_claimed_deviation_is_bounded_too() -> None:
    assert common_spec(five(5.0, std=900.0), Settings()).std[0] < 3.5


def test_a_far_site_is_named_with_its_column() -> None:
    (told,) = far_moments(five(305.0))
    assert told.startswith("ward-x is far from the other sites in column 1 of the table (mean 305")


def test_honest_sites_are_not_named() -> None:
    assert far_moments(five(5.0)) == []


def test_a_feature_that_is_constant_at_most_sites_stays_as_it_is() -> None:
    sites = [site(f"ward-{i}", (0.0, 1.0), (0.0, 1.0)) for i in range(4)] + [site("ward-x", (0.3, 1.0), (0.4, 1.0))]
    means, stds = bounded_moments(sites)
    assert (means[4, 0], stds[4, 0]) == (0.3, 0.4)


def test_two_sites_count_as_they_say() -> None:
    means, _ = bounded_moments(five(305.0)[3:])
    assert means[1, 0] == 305.0
