"""Plasma and ice: ranges, smoothness by decay, sizes that are no power of two."""

import numpy as np
import pytest

from pfedgp_core.data.corruptions.textures import ice, plasma

RNG = np.random.default_rng


def roughness(decay: float) -> float:
    """Mean step between neighbours, over ten clouds."""
    return float(np.mean([np.abs(np.diff(plasma(64, 64, decay, RNG(seed)), axis=0)).mean() for seed in range(10)]))


def test_a_cloud_goes_from_zero_to_one() -> None:
    cloud = plasma(64, 64, 1.7, RNG(0))
    assert (cloud.min(), cloud.max()) == (0.0, 1.0)


def test_more_decay_is_smoother() -> None:
    assert roughness(3.0) < roughness(1.75) < roughness(1.2)


def test_a_cloud_has_no_seam_at_the_places_of_its_grid() -> None:
    # Every point was made from four neighbours; a point that was forgotten would be 0 among large values.
    steps = np.abs(np.diff(plasma(64, 64, 3.0, RNG(1)), axis=0))
    assert steps.max() < 0.25


@pytest.mark.parametrize("shape", [(32, 32), (28, 28), (1, 1), (5, 40)])
def test_any_size(shape: tuple[int, int]) -> None:
    assert (plasma(*shape, 2.0, RNG(0)).shape, ice(*shape, RNG(0)).shape) == (shape, (*shape, 3))


def test_ice_is_bluish_white() -> None:
    red, green, blue = ice(64, 64, RNG(0)).mean(axis=(0, 1))
    assert 0.3 < red < green < blue < 0.8


def test_ice_has_dark_and_bright_places() -> None:
    assert np.ptp(np.quantile(ice(64, 64, RNG(0)), [0.05, 0.95])) > 0.3
