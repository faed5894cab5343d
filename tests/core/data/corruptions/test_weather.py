"""Snow, frost, fog and spatter: what they add, and where they add nothing."""

import numpy as np
import pytest

from pfedgp_core.data.corruptions.colour import LUMINANCE
from pfedgp_core.data.corruptions.textures import ice
from pfedgp_core.data.corruptions.weather import fog, frost, snow, spatter

RNG = np.random.default_rng
IMAGE = RNG(9).random((32, 32, 3))
WATER, MUD = (0.65, 0.3, 2, 0.68, 0.5, 0), (0.65, 0.3, 1, 0.65, 1.5, 1)


def test_frost_is_a_weighted_sum() -> None:
    np.testing.assert_allclose(frost(IMAGE, RNG(0), 0.7, 0.6), 0.7 * IMAGE + 0.6 * ice(32, 32, RNG(0)))


def test_fog_keeps_the_maximum_of_an_image() -> None:
    assert fog(np.ones((32, 32, 3)), RNG(0), 2.5, 1.7).max() == pytest.approx(1.0)


def test_fog_brightens_the_dark_and_dims_contrast() -> None:
    foggy = fog(IMAGE, RNG(0), 3.0, 1.4)
    assert foggy.std() < IMAGE.std()
    assert foggy.min() > IMAGE.min()


def test_snow_without_flakes_is_a_paler_image() -> None:
    pale = np.maximum(IMAGE, (IMAGE @ LUMINANCE)[:, :, None] * 1.5 + 0.5)
    made = snow(IMAGE, RNG(0), 0.1, 0.0, 2.0, 0.5, 10, 4.0, 0.8)
    np.testing.assert_allclose(made, 0.8 * IMAGE + 0.2 * pale)


def test_flakes_are_white() -> None:
    black = np.zeros((32, 32, 3))
    flakes = snow(black, RNG(0), 0.55, 0.3, 2.5, 0.85, 12, 12.0, 1.0)
    np.testing.assert_allclose(flakes, np.repeat(flakes[:, :, :1], 3, axis=2))


def test_more_snow_falls_under_a_higher_mean() -> None:
    few, many = (snow(IMAGE, RNG(0), mean, 0.3, 2.5, 0.85, 12, 12.0, 0.5).mean() for mean in (0.1, 0.55))
    assert many > few


def test_water_brightens_and_never_darkens() -> None:
    added = spatter(IMAGE, RNG(1), *WATER) - IMAGE
    assert added.min() > -1e-12
    assert added.max() == pytest.approx(0.5 * 238 / 255)


def test_without_drops_nothing_is_added() -> None:
    assert np.array_equal(spatter(IMAGE, RNG(0), 0.1, 0.01, 2, 0.68, 0.5, 0), IMAGE)


def test_mud_covers_places_wholly_or_not_at_all() -> None:
    white = np.ones((32, 32, 3))
    muddy = spatter(white, RNG(2), *MUD)
    cover = (1 - muddy[:, :, 2]) / (1 - 20 / 255)
    assert set(np.unique(cover > 0)) == {False, True}
    assert cover[cover > 0].min() >= 0.8 - 1e-12
