"""Polya-Gamma draws: moments, whole distribution, the tilts that break polyagamma itself, reproducibility."""

import numpy as np
import pytest
import torch
from polyagamma import random_polyagamma
from scipy import stats

from pfedgp_core.errors import NonFiniteError
from pfedgp_core.numerics.polya_gamma import WALD_ABOVE, pg_mean, pg_variance, sample_pg, sample_pg_torch


def by_numpy(z: torch.Tensor, seed: int = 0) -> torch.Tensor:
    return sample_pg(z, np.random.default_rng(seed))


def by_torch(z: torch.Tensor, seed: int = 0) -> torch.Tensor:
    return sample_pg_torch(z, torch.Generator().manual_seed(seed))


SAMPLERS = pytest.mark.parametrize("sample", [by_numpy, by_torch])


def reference(z: float, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if z < 100:  # polyagamma is exact here
        return random_polyagamma(1.0, z, size=n, random_state=rng)
    return rng.wald(1 / (2 * z), 0.25, n)


@SAMPLERS
@pytest.mark.parametrize("z", [0.0, 1e-12, 1.0, 19.99, 20.01, 50.0, 177.0, 178.0, 300.0, 710.0, 1e4])
def test_mean_and_variance(sample, z):
    n = 200_000
    draws = sample(torch.full((n,), z), seed=3).double()
    mean, variance = float(pg_mean(torch.tensor(z).double())), float(pg_variance(torch.tensor(z).double()))
    assert draws.min() > 0
    assert draws.isfinite().all()
    assert abs(draws.mean() - mean) < 4.5 * (variance / n) ** 0.5
    assert abs(draws.var() / variance - 1) < 0.025


@pytest.mark.slow
@SAMPLERS
def test_golden_moments(sample, golden):
    case = golden.case("pg_moments_p")
    n = case["inputs"]["n"]
    means, variances = case["asserts"]
    for z, mean, variance in zip(case["inputs"]["c"], means["value"], variances["value"], strict=True):
        draws = sample(torch.full((n,), z), seed=11).double()
        assert abs(draws.mean() - mean) <= 5 * (variance / n) ** 0.5
        assert abs(draws.var() / variance - 1) <= variances["rtol"]
        np.testing.assert_allclose(pg_mean(torch.tensor(z, dtype=torch.float64)), mean, rtol=1e-13)
        np.testing.assert_allclose(pg_variance(torch.tensor(z, dtype=torch.float64)), variance, rtol=1e-9)


@SAMPLERS
def test_golden_augmentation_identity(sample, golden):
    """e^(a psi) / (1 + e^psi) = 1/2 exp((a - 1/2) psi) E exp(-omega psi^2 / 2), omega ~ PG(1, 0)."""
    case = golden.case("pg_identity")
    (wanted,) = case["asserts"]
    omega = sample(torch.zeros(wanted["n_min"], dtype=torch.float64), seed=1)
    for row in case["inputs"]["rows"]:
        psi, a = row["psi"], row["a"]
        got = 0.5 * np.exp((a - 0.5) * psi) * torch.exp(-omega * psi**2 / 2).mean()
        assert abs(got - row["value"]) <= wanted["atol"]


@pytest.mark.slow
@pytest.mark.parametrize("z", [0.0, 3.0, 19.9, 300.0])
def test_torch_sampler_has_the_whole_distribution(z):
    n = 1_000_000
    generator = torch.Generator().manual_seed(17)
    draws = torch.cat([sample_pg_torch(torch.full((50_000,), z), generator) for _ in range(n // 50_000)]).double()
    exact = np.sort(reference(z, n, seed=5))
    sample = np.sort(draws.numpy())
    assert stats.ks_2samp(sample, exact).pvalue > 0.01
    variance = float(pg_variance(torch.tensor(z).double()))
    assert abs(sample.mean() - float(pg_mean(torch.tensor(z).double()))) < 3.5 * (variance / n) ** 0.5
    assert abs(sample.var() / exact.var() - 1) < 0.012
    for level in (1e-4, 1e-3, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999):
        below = np.searchsorted(sample, np.quantile(exact, level))  # both counts are binomial
        assert abs(below - level * n) < 3.5 * (2 * n * level * (1 - level)) ** 0.5


def test_wald_limit_is_seamless():
    """At the limit the inverse Gaussian and the rejection sampler have the same law."""
    rng = np.random.default_rng(2)
    wald = rng.wald(1 / (2 * WALD_ABOVE), 0.25, 200_000)
    assert stats.ks_2samp(wald, reference(WALD_ABOVE, 200_000, seed=9)).pvalue > 0.01


@SAMPLERS
def test_depends_on_the_size_of_z_only(sample, golden):
    assert golden.case("pg_scaling_symmetry")["asserts"][0]["value"] is True
    z = torch.randn(40, 7, generator=torch.Generator().manual_seed(0)) * 15
    assert torch.equal(sample(z, seed=4), sample(-z, seed=4))
    assert torch.equal(sample(z, seed=4), sample(z.abs(), seed=4))


@SAMPLERS
def test_reproducible_and_advancing(sample):
    z = torch.linspace(-30, 30, 500)
    assert torch.equal(sample(z, seed=8), sample(z, seed=8))
    assert not torch.equal(sample(z, seed=8), sample(z, seed=9))
    rng, generator = np.random.default_rng(8), torch.Generator().manual_seed(8)
    assert not torch.equal(sample_pg(z, rng), sample_pg(z, rng))
    assert not torch.equal(sample_pg_torch(z, generator), sample_pg_torch(z, generator))


@SAMPLERS
def test_leaves_global_generators_alone(sample):
    torch_state, numpy_state = torch.get_rng_state(), np.random.get_state()[1].copy()
    sample(torch.linspace(-30, 30, 50))
    assert torch.equal(torch_state, torch.get_rng_state())
    assert np.array_equal(numpy_state, np.random.get_state()[1])


@SAMPLERS
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 4), (2, 3, 4)])
def test_keeps_shape_and_dtype(sample, dtype, shape):
    for z in (torch.ones(shape, dtype=dtype), torch.full(shape, 40.0, dtype=dtype)):
        draws = sample(z)
        assert draws.shape == z.shape
        assert draws.dtype == z.dtype
        assert bool((draws > 0).all())


@SAMPLERS
def test_takes_strided_and_learning_tensors_and_keeps_them(sample):
    z = torch.linspace(-40, 40, 60).reshape(6, 10).requires_grad_()
    before = z.detach().clone()
    draws = sample(z.T[::2])
    assert draws.shape == (5, 6)
    assert not draws.requires_grad
    assert torch.equal(draws, sample(z.T[::2].detach().contiguous()))
    assert torch.equal(z, before)


def test_large_tilts_do_not_disturb_small_ones():
    z = torch.full((100_000,), 2.0)
    z[::100] = -500.0
    draws = by_numpy(z).double()
    small, large = draws[z == 2.0], draws[z != 2.0]
    assert abs(small.mean() - np.tanh(1) / 4) < 5 * (0.0215 / len(small)) ** 0.5
    assert abs(large.mean() - 1e-3) < 5 * (4e-9 / len(large)) ** 0.5


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_numpy_sampler_refuses_what_is_not_finite(value):
    z = torch.ones(1000)
    z[123] = value
    with pytest.raises(NonFiniteError, match="1 of 1000 latent values"):
        by_numpy(z)  # polyagamma would never return


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_torch_sampler_marks_what_is_not_finite(value):
    draws = by_torch(torch.tensor([1.0, value, 50.0]))
    assert draws.isnan().tolist() == [False, True, False]


@SAMPLERS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_stays_positive_at_the_end_of_the_range(sample, dtype):
    largest = torch.finfo(dtype).max / 16  # of larger ones the mean, 1 / (2 z), is a denormal number
    draws = sample(torch.tensor([largest, 1e30, 1e9], dtype=dtype))
    assert bool((draws > 0).all())
    assert abs(draws[2].item() * 2e9 - 1) < 1e-3


def test_moments_of_extreme_tilts():
    z = torch.tensor([0.0, 1e-300, 1e-12, 50.0, 710.0, 1e8, 1e100, -50.0], dtype=torch.float64)
    np.testing.assert_allclose(pg_mean(z), [0.25, 0.25, 0.25, 0.01, 1 / 1420, 5e-9, 5e-101, 0.01], rtol=1e-12)
    expected = [1 / 24, 1 / 24, 1 / 24, 4e-6, 1 / (2 * 710.0**3), 5e-25, 5e-301, 4e-6]
    np.testing.assert_allclose(pg_variance(z), expected, rtol=1e-12)


def test_moments_match_the_series():
    """Mean and variance of the series with 200 000 terms and an integral for the rest."""
    k = np.arange(1, 200_001) - 0.5
    for z in (0.0, 1e-3, 0.0999, 0.1001, 0.7, 4.0, 17.0):
        d = k**2 + (z / (2 * np.pi)) ** 2
        mean = ((1 / d).sum() + 1 / 200_000) / (2 * np.pi**2)
        variance = (1 / d**2).sum() / (4 * np.pi**4)
        tilt = torch.tensor([z, -z], dtype=torch.float64)
        np.testing.assert_allclose(pg_mean(tilt), [mean, mean], rtol=1e-11)
        np.testing.assert_allclose(pg_variance(tilt), [variance, variance], rtol=1e-11)


def test_moments_are_smooth():
    """Also across the change to a series, and at 0."""
    z = torch.tensor([-3.0, -0.1, 0.0, 1e-6, 0.0999, 0.1001, 2.0], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(pg_mean, (z,), atol=1e-7)
    assert torch.autograd.gradcheck(pg_variance, (z,), atol=1e-7)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_torch_sampler_on_cuda():
    generator = torch.Generator("cuda").manual_seed(1)
    for z in (0.0, 3.0, 30.0):
        draws = sample_pg_torch(torch.full((400_000,), z, device="cuda"), generator).double().cpu().numpy()
        assert stats.ks_2samp(draws, reference(z, 400_000, seed=2)).pvalue > 0.01
