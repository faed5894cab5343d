"""The bound on the mean error of classifiers that are tested one after the other."""

import math

import numpy as np
import pytest

from pfedgp_core.certificate.binomial_bound import clopper_pearson
from pfedgp_core.certificate.mixture_martingale import TILTS, mixture_bound
from pfedgp_core.errors import ConfigError


def mixture(p: float, errors: int, steps: int) -> float:
    finite = [(tilt, weight) for tilt, weight in TILTS if tilt > -math.inf]
    total = sum(w * math.exp(tilt * errors) * (1 - p + p * math.exp(tilt)) ** -steps for tilt, w in finite)
    return total + (0.4 * (1 - p) ** -steps if errors == 0 else 0.0)


def test_weights_sum_to_one() -> None:
    assert sum(weight for _, weight in TILTS) == pytest.approx(1)


@pytest.mark.parametrize(("errors", "steps", "delta"), [(0, 25, 0.01), (1, 25, 0.008), (7, 30, 0.05), (30, 200, 0.01)])
def test_the_bound_is_where_the_mixture_reaches_its_limit(errors: int, steps: int, delta: float) -> None:
    bound = mixture_bound(errors, steps, delta)
    assert mixture(bound, errors, steps) == pytest.approx(1 / delta, rel=1e-6)


def test_nothing_is_proved_where_all_are_wrong() -> None:
    assert mixture_bound(5, 5, 0.05) == 1.0


def test_it_pays_for_errors_that_depend_on_each_other() -> None:
    for errors in (0, 3, 20):
        assert mixture_bound(errors, 50, 0.01) > clopper_pearson(errors, 50, 0.01)


def test_more_errors_and_fewer_steps_are_worse() -> None:
    bounds = [mixture_bound(errors, 40, 0.01) for errors in range(41)]
    assert (np.diff(bounds) > 0).all() or bounds[-1] == 1.0
    assert mixture_bound(0, 20, 0.01) > mixture_bound(0, 40, 0.01)


def test_no_mixture_exceeds_its_expectation() -> None:
    """Exactly, by all 2^T outcomes: a classifier whose next error depends on whether it has erred."""
    steps, expected = 8, 0.0
    for outcome in range(2**steps):
        wrong = [(outcome >> t) & 1 for t in range(steps)]
        probability, rates = 1.0, []
        for t in range(steps):
            rates.append(0.6 if sum(wrong[:t]) == 0 else 0.1)
            probability *= rates[-1] if wrong[t] else 1 - rates[-1]
        expected += probability * mixture(float(np.mean(rates)), sum(wrong), steps)
    assert 0.2 < expected <= 1 + 1e-12


@pytest.mark.parametrize(("errors", "steps", "delta"), [(-1, 5, 0.1), (6, 5, 0.1), (0, 0, 0.1), (0, 5, 1.0)])
def test_mistakes(errors: int, steps: int, delta: float) -> None:
    with pytest.raises(ConfigError):
        mixture_bound(errors, steps, delta)
