"""The law of each noise, on a grey image large enough to measure it."""

import numpy as np
import pytest

from pfedgp_core.data.corruptions.random_noise import gaussian_noise, impulse_noise, shot_noise, speckle_noise

GREY = np.full((300, 300, 3), 0.5)
RNG = np.random.default_rng


@pytest.mark.parametrize(
    ("made", "deviation"),
    [
        (gaussian_noise(GREY, RNG(0), 0.18), 0.18),
        (shot_noise(GREY, RNG(0), 12), (0.5 / 12) ** 0.5),
        (speckle_noise(GREY, RNG(0), 0.35), 0.175),
    ],
    ids=["gaussian", "shot", "speckle"],
)
def test_deviation(made: np.ndarray, deviation: float) -> None:
    # 270,000 values: the standard error of a deviation is about 0.14 %.
    assert made.std() == pytest.approx(deviation, rel=0.01)


@pytest.mark.parametrize(
    "made",
    [gaussian_noise(GREY, RNG(1), 0.18), shot_noise(GREY, RNG(1), 12), speckle_noise(GREY, RNG(1), 0.35)],
    ids=["gaussian", "shot", "speckle"],
)
def test_the_mean_stays(made: np.ndarray) -> None:
    assert made.mean() == pytest.approx(0.5, abs=0.003)


def test_shot_noise_counts_photons() -> None:
    counts = shot_noise(GREY, RNG(2), 5) * 5
    assert np.allclose(counts, np.rint(counts))


@pytest.mark.parametrize("level", [0.0, 1.0])
def test_half_of_the_impulses_are_black_and_half_white(level: float) -> None:
    assert (impulse_noise(GREY, RNG(3), 0.09) == level).mean() == pytest.approx(0.045, abs=0.003)


def test_what_no_impulse_hit_stays() -> None:
    assert (impulse_noise(GREY, RNG(4), 0.09) == 0.5).mean() == pytest.approx(0.91, abs=0.003)


def test_speckle_leaves_black_alone() -> None:
    assert not speckle_noise(np.zeros((4, 4, 3)), RNG(5), 0.6).any()
