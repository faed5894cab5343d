"""Brightness, contrast and saturation against Python's own HSV, pixel by pixel."""

import colorsys

import numpy as np
import pytest

from pfedgp_core.data.corruptions.colour import brightness, contrast, saturate

IMAGE = np.random.default_rng(0).random((9, 7, 3))
RNG = np.random.default_rng


def by_hsv(image: np.ndarray, change) -> np.ndarray:
    return np.array([[colorsys.hsv_to_rgb(*change(*colorsys.rgb_to_hsv(*pixel))) for pixel in row] for row in image])


@pytest.mark.parametrize("added", [0.1, 0.5])
def test_brightness(added: float) -> None:
    wanted = by_hsv(IMAGE, lambda h, s, v: (h, s, min(v + added, 1.0)))
    np.testing.assert_allclose(brightness(IMAGE, RNG(0), added), wanted, atol=1e-12)


def test_black_becomes_grey() -> None:
    np.testing.assert_array_equal(brightness(np.zeros((2, 2, 3)), RNG(0), 0.3), np.full((2, 2, 3), 0.3))


@pytest.mark.parametrize(("factor", "added"), [(0.3, 0.0), (2.0, 0.0), (5.0, 0.1), (20.0, 0.2)])
def test_saturate(factor: float, added: float) -> None:
    wanted = by_hsv(IMAGE, lambda h, s, v: (h, min(max(s * factor + added, 0.0), 1.0), v))
    np.testing.assert_allclose(saturate(IMAGE, RNG(0), factor, added), wanted, atol=1e-12)


def test_saturate_gives_grey_the_hue_of_hsv() -> None:
    grey = np.full((2, 2, 3), 0.6)
    wanted = by_hsv(grey, lambda h, s, v: (h, 0.1, v))
    np.testing.assert_allclose(saturate(grey, RNG(0), 5.0, 0.1), wanted, atol=1e-12)


def test_contrast_keeps_the_mean_of_each_colour() -> None:
    np.testing.assert_allclose(contrast(IMAGE, RNG(0), 0.2).mean(axis=(0, 1)), IMAGE.mean(axis=(0, 1)))


def test_contrast_shrinks_the_deviation_of_each_colour() -> None:
    np.testing.assert_allclose(contrast(IMAGE, RNG(0), 0.2).std(axis=(0, 1)), 0.2 * IMAGE.std(axis=(0, 1)))
