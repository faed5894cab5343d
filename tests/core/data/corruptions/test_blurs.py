"""Blurs keep a flat image flat and the light of a spot; glass moves pixels about; a zoom keeps the centre."""

import numpy as np
import pytest

from pfedgp_core.data.corruptions.blurs import (
    defocus_blur,
    gaussian_blur,
    glass_blur,
    motion_blur,
    moved,
    zoom_blur,
    zoomed,
)

RNG = np.random.default_rng
BLURS = {
    "gaussian": lambda x: gaussian_blur(x, RNG(0), 2.0),
    "glass": lambda x: glass_blur(x, RNG(0), 0.7, 2, 2),
    "defocus": lambda x: defocus_blur(x, RNG(0), 3, 0.5),
    "motion": lambda x: motion_blur(x, RNG(0), 10, 3),
    "zoom": lambda x: zoom_blur(x, RNG(0), 1.11, 0.01),
}


def spot(side: int = 41) -> np.ndarray:
    """One bright pixel in the middle."""
    x = np.zeros((side, side, 3))
    x[side // 2, side // 2] = 1.0
    return x


@pytest.mark.parametrize("name", BLURS)
def test_a_flat_image_stays(name: str) -> None:
    flat = np.full((32, 32, 3), 0.37)
    np.testing.assert_allclose(BLURS[name](flat), flat, atol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "glass", "defocus", "motion"])
def test_the_light_of_a_spot_stays(name: str) -> None:
    np.testing.assert_allclose(BLURS[name](spot()).sum(axis=(0, 1)), 1.0, atol=1e-6)


@pytest.mark.parametrize("name", BLURS)
def test_a_spot_is_spread(name: str) -> None:
    # Away from the centre, which a zoom leaves where it is.
    assert BLURS[name](np.roll(spot(), (6, 9), axis=(0, 1))).max() < 0.8


def test_glass_without_blur_moves_pixels_and_makes_none() -> None:
    x = RNG(1).random((20, 20, 3))
    mixed = glass_blur(x, RNG(2), 1e-9, 2, 3)
    assert np.array_equal(np.sort(mixed, axis=None), np.sort(x, axis=None))
    assert not np.array_equal(mixed, x)


def test_out_of_focus_a_spot_is_a_disk() -> None:
    disk = defocus_blur(spot(), RNG(0), 6, 1e-3)[:, :, 0]
    y, x = np.mgrid[-20:21, -20:21]
    assert np.array_equal(disk > 1e-9, x**2 + y**2 <= 36)


@pytest.mark.parametrize(("degrees", "down", "right"), [(0.0, -1, 0), (90.0, 0, -1), (180.0, 1, 0), (-90.0, 0, 1)])
def test_motion_has_its_direction(degrees: float, down: int, right: int) -> None:
    track = moved(spot(), 3, 2.0, degrees)[:, :, 0]
    places = np.argwhere(track > 0) - 20
    assert sorted(map(tuple, places)) == sorted((down * step, right * step) for step in range(7))


def test_the_weights_of_a_motion_are_half_a_gaussian() -> None:
    track = moved(spot(), 3, 2.0, 90.0)[20, 14:21, 0][::-1]
    np.testing.assert_allclose(track / track[0], np.exp(-0.5 * (np.arange(7) / 2.0) ** 2))


@pytest.mark.parametrize("side", [31, 32])
def test_a_zoom_keeps_a_ramp_straight(side: int) -> None:
    ramp = np.broadcast_to(np.arange(side, dtype=float), (side, side))
    centre = (side - 1) / 2
    np.testing.assert_allclose(zoomed(ramp, 2.0), centre + (ramp - centre) / 2)


def test_a_zoom_by_one_changes_nothing() -> None:
    x = RNG(3).random((12, 17, 3))
    np.testing.assert_allclose(zoomed(x, 1.0), x)
