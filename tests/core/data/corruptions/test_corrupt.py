"""What every corruption promises: bytes of the same shape, decided by its generator, on images of any size."""

import itertools

import numpy as np
import pytest

from pfedgp_core.data.corruptions.corrupt import RANDOM, corrupted, corrupted_values
from pfedgp_core.data.corruptions.severities import CORRUPTIONS, SEVERITIES, TABLES
from pfedgp_core.errors import DataError

SHAPES = [(32, 32, 3), (28, 28, 1), (8, 8, 1), (1, 1, 3), (20, 33, 3)]
# Not stronger at each step, as their parameters say; frost hides more of the image, which is then darker by itself.
OTHERWISE = ("saturate", "elastic_transform", "jpeg_compression", "frost")


def smooth_image(height: int = 32, width: int = 32, channels: int = 3) -> np.ndarray:
    """An image with areas, edges and colours, as photographs have."""
    y, x = np.mgrid[:height, :width] / max(height, width)
    planes = [np.sin(7 * x + c) * np.cos(5 * y - c) * 0.3 + 0.45 + 0.2 * (x + 0.3 * c > 0.6) for c in range(channels)]
    return np.rint(np.clip(np.stack(planes, axis=2), 0, 1) * 255).astype(np.uint8)


def made(image: np.ndarray, corruption: str, severity: int, seed: int = 0, table: str = "imagenet-c") -> np.ndarray:
    return corrupted(image, corruption, severity, np.random.default_rng(seed), table)


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_images_of_any_size_keep_their_shape(corruption: str, shape: tuple[int, int, int], table: str) -> None:
    image = smooth_image(*shape)
    found = {(r.dtype, r.shape) for r in (made(image, corruption, severity, table=table) for severity in SEVERITIES)}
    assert found == {(np.dtype(np.uint8), shape)}


@pytest.mark.parametrize("severity", SEVERITIES)
@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_the_generator_decides(corruption: str, severity: int) -> None:
    first, again = (made(smooth_image(), corruption, severity, seed=7) for _ in range(2))
    assert np.array_equal(first, again)


@pytest.mark.parametrize("corruption", sorted(RANDOM))
def test_another_generator_gives_another_image(corruption: str) -> None:
    assert not np.array_equal(made(smooth_image(), corruption, 5, seed=1), made(smooth_image(), corruption, 5, seed=2))


@pytest.mark.parametrize("corruption", sorted(set(CORRUPTIONS) - RANDOM))
def test_a_deterministic_corruption_takes_no_random_number(corruption: str) -> None:
    rng = np.random.default_rng(3)
    corrupted(smooth_image(), corruption, 4, rng)
    assert rng.bit_generator.state == np.random.default_rng(3).bit_generator.state


@pytest.mark.parametrize("corruption", CORRUPTIONS)
def test_the_image_itself_stays(corruption: str) -> None:
    image = smooth_image()
    image.setflags(write=False)
    before = image.copy()
    made(image, corruption, 5)
    assert np.array_equal(image, before)


def change(corruption: str, severity: int, table: str = "imagenet-c") -> float:
    """Mean absolute change of a grey level, over eight generators."""
    image = smooth_image().astype(float)
    results = [made(smooth_image(), corruption, severity, seed, table) for seed in range(8)]
    return float(np.mean([np.abs(r - image).mean() for r in results]))


@pytest.mark.parametrize("corruption", CORRUPTIONS)
@pytest.mark.parametrize("severity", [3, 4, 5])
def test_every_noise_model_changes_the_image(corruption: str, severity: int) -> None:
    assert change(corruption, severity) > 0.5


@pytest.mark.parametrize("corruption", [name for name in CORRUPTIONS if name not in OTHERWISE])
def test_the_highest_severity_changes_more_than_the_lowest(corruption: str) -> None:
    assert change(corruption, 5) > change(corruption, 1)


def test_frost_of_the_highest_severity_hides_more() -> None:
    image = smooth_image().ravel()
    seen = [np.corrcoef(image, made(smooth_image(), "frost", severity).ravel())[0, 1] for severity in SEVERITIES]
    assert seen == sorted(seen, reverse=True)


@pytest.mark.parametrize("corruption", ["gaussian_noise", "shot_noise", "contrast", "brightness", "fog", "pixelate"])
def test_cifar_10_c_is_milder(corruption: str) -> None:
    assert change(corruption, 5, "cifar-10-c") < change(corruption, 5)


def test_a_grey_image_is_a_coloured_one_without_colours() -> None:
    grey = smooth_image(channels=1)
    coloured = made(np.repeat(grey, 3, axis=2), "fog", 3)
    assert np.abs(coloured[:, :, :1].astype(int) - made(grey, "fog", 3)).max() == 0


def test_values_are_rounded_to_the_nearest_byte() -> None:
    values = corrupted_values(smooth_image(), "contrast", 3, np.random.default_rng(0))
    assert np.abs(values - made(smooth_image(), "contrast", 3)).max() <= 0.5


def test_values_stay_within_bytes() -> None:
    values = [corrupted_values(smooth_image(), name, 5, np.random.default_rng(0)) for name in CORRUPTIONS]
    assert 0 <= min(v.min() for v in values) <= max(v.max() for v in values) <= 255


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("rain", 3), "corruption = 'rain' is not known; choose one of: gaussian_noise"),
        (("snow", 0), "severity = 0 is not known; give 1 to 5"),
        (("snow", 9), "severity = 9 is not known"),
        (("snow", 3, 0, "kodak"), "parameters 'kodak' are not known; choose one of: imagenet-c, cifar-10-c"),
    ],
)
def test_what_is_not_known_is_named(arguments: tuple, sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        made(smooth_image(), *arguments)


@pytest.mark.parametrize(
    "image",
    [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3)), np.zeros((4, 4, 2), np.uint8), np.zeros((0, 4, 3), np.uint8)],
    ids=lambda image: f"{image.dtype}{image.shape}",
)
def test_what_is_no_image_is_refused(image: np.ndarray) -> None:
    with pytest.raises(DataError, match="give uint8"):
        made(image, "contrast", 3)


def test_images_of_one_level_have_no_holes() -> None:
    flat = [np.full((16, 16, 3), level, np.uint8) for level in (0, 128, 255)]
    for image, corruption, severity in itertools.product(flat, CORRUPTIONS, SEVERITIES):
        assert np.isfinite(corrupted_values(image, corruption, severity, np.random.default_rng(0))).all()
