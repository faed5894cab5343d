"""Pixelation, JPEG and elastic distortion."""

import numpy as np
import pytest

from pfedgp_core.data.corruptions.digital import elastic_transform, jpeg_compression, pixelate

RNG = np.random.default_rng
IMAGE = RNG(0).integers(0, 256, (32, 32, 3)) / 255.0


def test_pixelation_by_a_quarter_is_the_mean_of_blocks() -> None:
    blocks = IMAGE.reshape(8, 4, 8, 4, 3).mean(axis=(1, 3))
    wanted = np.repeat(np.repeat(blocks, 4, axis=0), 4, axis=1)
    np.testing.assert_allclose(pixelate(IMAGE, RNG(0), 0.25), wanted, atol=1 / 255)


def test_pixels_of_a_coarse_image_have_few_values() -> None:
    assert len(np.unique(pixelate(IMAGE, RNG(0), 0.65)[:, 0, 0])) <= int(0.65 * 32)


def test_a_lower_quality_of_jpeg_is_further_away() -> None:
    errors = [np.abs(jpeg_compression(IMAGE, RNG(0), quality) - IMAGE).mean() for quality in (80, 25, 7)]
    assert errors == sorted(errors)


@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_keeps_the_channels(channels: int) -> None:
    assert jpeg_compression(IMAGE[:, :, :channels], RNG(0), 10).shape == (32, 32, channels)


def test_without_shifts_an_image_stays() -> None:
    assert np.array_equal(elastic_transform(IMAGE, RNG(0), 0.0, 0.01, 0.0), IMAGE)


def test_a_flat_image_is_not_bent() -> None:
    flat = np.full((32, 32, 3), 0.4)
    np.testing.assert_allclose(elastic_transform(flat, RNG(0), 0.1, 0.03, 0.05), flat)


@pytest.mark.parametrize(("shift", "corners"), [(0.1, 0.0), (0.0, 0.08)])
def test_pixels_move_no_further_than_the_shift(shift: float, corners: float) -> None:
    ramp = np.repeat(np.broadcast_to(np.arange(32.0) / 31, (32, 32))[:, :, None], 3, axis=2)
    moved = elastic_transform(ramp, RNG(1), shift, 0.0, corners)[12:20, 12:20]
    # About the centre, an affine map moves pixels less than twice as far as its three points.
    assert 0 < np.abs(moved - ramp[12:20, 12:20]).max() <= (shift + 2 * corners) * 32 / 31 + 1e-9
