"""Draws by the table of quantiles: the density, the bound that makes rejection exact, the law of the draws."""

import math

import numpy as np
import pytest
import torch
from polyagamma import random_polyagamma
from scipy import stats

from pfedgp_core.numerics import pg_quantiles
from pfedgp_core.numerics.pg_quantiles import DELTA, LARGEST_SCORE, LARGEST_TILT, density_ratio, log_density, proposal
from pfedgp_core.numerics.polya_gamma import pg_mean, pg_variance

TILTS = [0.0, 0.5, 3.0, 9.7, 20.0]


def ratio(z: float, count: int = 20_001) -> np.ndarray:
    """Exact density over that of the table, at normal scores from end to end."""
    scores, tilts = np.linspace(-LARGEST_SCORE, LARGEST_SCORE, count, dtype=np.float32), np.full(count, z, np.float32)
    y, rise, share = proposal(tilts, scores)
    return density_ratio(tilts.astype(np.float64), scores, y, rise, share)


def draws(z: float, n: int, seed: int) -> np.ndarray:
    rng, tilts = np.random.default_rng(seed), np.full(20_000, z, np.float32)
    parts = [pg_quantiles.sample_by_quantiles(tilts, rng) for _ in range(n // len(tilts))]
    return np.concatenate(parts).astype(np.float64)


@pytest.mark.parametrize("z", [0.0, 1e-6, 0.8, 4.0, 20.0])
def test_the_density_has_the_mass_and_the_moments_of_the_law(z: float) -> None:
    y = np.linspace(math.log(5e-4), math.log(30.0), 200_001)
    mass, omega = np.exp(log_density(y, np.array([z]))) * (y[1] - y[0]), np.exp(y)
    assert mass.sum() == pytest.approx(1, abs=1e-9)
    mean, variance = (float(moment(torch.tensor(z).double())) for moment in (pg_mean, pg_variance))
    assert (mass * omega).sum() == pytest.approx(mean, rel=1e-8)
    assert (mass * (omega - mean) ** 2).sum() == pytest.approx(variance, rel=1e-7)


def test_the_density_of_the_table_is_within_the_bound_everywhere() -> None:
    rng = np.random.default_rng(0)
    for z in [*TILTS, *rng.uniform(0, LARGEST_TILT, 40), *rng.uniform(0, 0.2, 10)]:
        assert np.abs(ratio(z) - 1).max() < 0.9 * DELTA


def test_the_ratio_is_that_of_the_densities() -> None:
    """The table's density by differences of its own y, which rounding to float32 leaves to a few in a thousand."""
    scores, tilts = np.linspace(-4, 4, 4001, dtype=np.float32), np.full(4001, 2.2, np.float32)
    y = proposal(tilts, scores)[0].astype(np.float64)
    own = stats.norm.pdf(scores) / np.gradient(y, scores.astype(np.float64))
    exact = np.exp(log_density(y, tilts.astype(np.float64)))
    np.testing.assert_allclose(exact / own, 1, atol=0.01)
    np.testing.assert_allclose(ratio(2.2), 1, atol=0.01)


@pytest.mark.parametrize("z", TILTS)
def test_draws_have_the_law(z: float) -> None:
    n = 400_000
    exact = random_polyagamma(1.0, z, size=n, random_state=np.random.default_rng(1))
    assert stats.ks_2samp(draws(z, n, seed=2), exact).pvalue > 0.01


def test_the_law_is_that_of_the_rejection_and_not_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """A table with waves, under the bound that belongs to it."""
    exact = random_polyagamma(1.0, 3.0, size=400_000, random_state=np.random.default_rng(1))
    table = pg_quantiles._table()
    waves = 0.03 * np.sin(np.arange(len(table)) % (pg_quantiles.SCORES + 1) / 80).astype(np.float32)
    monkeypatch.setattr(pg_quantiles, "_table", lambda: table + waves)
    assert stats.ks_2samp(draws(3.0, 400_000, seed=2), exact).pvalue < 1e-6
    delta = 1.05 * np.abs(ratio(3.0) - 1).max()
    monkeypatch.setattr(pg_quantiles, "DELTA", delta)
    monkeypatch.setattr(pg_quantiles, "_SURE", (1 - delta) / (1 + delta))
    assert stats.ks_2samp(draws(3.0, 400_000, seed=2), exact).pvalue > 0.01


def test_few_draws_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = []

    def count(h: float, z: np.ndarray, **how: object) -> np.ndarray:
        refused.append(len(z))
        return np.full(len(z), np.nan)

    monkeypatch.setattr(pg_quantiles, "random_polyagamma", count)
    found = draws(3.0, 100_000, seed=0)
    assert np.isnan(found).sum() == sum(refused)
    assert 0 < sum(refused) < 2 * DELTA * len(found)


def test_a_score_beyond_the_table_gives_its_quantile() -> None:
    class Extreme:
        def standard_normal(self, n: int, dtype: type) -> np.ndarray:
            return np.array([0.0, -4.6, 5.5], dtype)

        def random(self, n: int, dtype: type) -> np.ndarray:
            return np.zeros(n, dtype)

    z = np.array([1.0, 1.0, 6.0], np.float32)
    found = pg_quantiles.sample_by_quantiles(z, Extreme())
    y = np.linspace(math.log(5e-4), math.log(30.0), 400_001)
    for tilt, omega, score in zip(z, found, (0.0, -4.6, 5.5), strict=True):
        mass = np.exp(log_density(y, np.array([float(tilt)]))) * (y[1] - y[0])
        beyond = mass[y > math.log(omega)].sum() if score > 0 else mass[y < math.log(omega)].sum()
        assert stats.norm.isf(beyond) == pytest.approx(abs(score), abs=1e-3)
