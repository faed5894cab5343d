"""Pages of files and slices of volumes: never the first one in silence, and what the user makes of them."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from pfedgp_core.data.own.layout import Layout
from pfedgp_core.data.own.reader import check_data, read_samples
from tests.data_files import IMAGES, NAMES, refused

CHANNELS, SLICES = Layout(pages="channels"), Layout(pages="slices")


def stacks(root: Path, suffix: str = "tif") -> Path:
    """Two files of three pages in each of two classes."""
    for i, name in enumerate(("cat", "dog")):
        (root / name).mkdir(parents=True)
        pages = [Image.fromarray(image) for image in IMAGES[3 * i : 3 * i + 3]]
        pages[0].save(root / name / f"{i}.{suffix}", save_all=True, append_images=pages[1:])
    return root


@pytest.mark.parametrize("suffix", ["tif", "gif"])
def test_pages_are_refused_until_the_user_decides(suffix: str, tmp_path: Path) -> None:
    said = refused(stacks(tmp_path, suffix))
    assert f"Several pages in 2 of 2 images (cat/0.{suffix} has 3, dog/1.{suffix} has 3)" in said
    assert "--pages slices" in said
    assert "--pages channels" in said


def test_pages_as_channels(tmp_path: Path) -> None:
    samples = read_samples(stacks(tmp_path), layout=CHANNELS)
    np.testing.assert_array_equal(samples.inputs, IMAGES.reshape(2, 3, 8, 6))
    assert samples.ids == ("cat/0.tif", "dog/1.tif")
    taken = read_samples(tmp_path, input_shape=(3, 8, 6), layout=CHANNELS)
    np.testing.assert_array_equal(taken.inputs, samples.inputs)


def test_pages_as_samples_of_one_group(tmp_path: Path) -> None:
    samples = read_samples(stacks(tmp_path), layout=SLICES)
    np.testing.assert_array_equal(samples.inputs[:, 0], IMAGES)
    assert samples.ids[:4] == ("cat/0.tif#1", "cat/0.tif#2", "cat/0.tif#3", "dog/1.tif#1")
    assert samples.groups == ("cat/0.tif",) * 3 + ("dog/1.tif",) * 3
    assert samples.labels == tuple(NAMES)


def test_files_of_other_numbers_of_pages_are_no_channels(tmp_path: Path) -> None:
    Image.fromarray(IMAGES[0]).save(stacks(tmp_path) / "cat" / "single.tif")
    assert "2 of 3, 1 of 1" in refused(tmp_path, layout=CHANNELS)


@pytest.mark.parametrize(
    ("shape", "kind"),
    [((8, 8, 8), np.uint8), ((1, 8, 8, 8), np.uint8), ((8, 8, 8), np.float32), ((8, 8, 8, 1), np.int16)],
)
def test_volumes_in_arrays(shape: tuple[int, ...], kind: type, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    volumes = draw.integers(0, 256, (4, *shape)).astype(kind)
    np.savez(tmp_path / "a.npz", images=volumes, labels=["a", "b", "a", "b"])
    said = check_data(tmp_path / "a.npz").problems[0]
    assert "volumes" in said
    assert "give --pages slices" in said
    whole = volumes.reshape(4, 8, 8, 8)
    stacked = read_samples(tmp_path / "a.npz", layout=CHANNELS).inputs
    assert stacked.shape == whole.shape
    samples = read_samples(tmp_path / "a.npz", layout=SLICES)
    assert samples.inputs.shape == (32, 1, 8, 8)
    np.testing.assert_array_equal(samples.inputs.reshape(stacked.shape), stacked)
    assert samples.labels == ("a",) * 8 + ("b",) * 8 + ("a",) * 8 + ("b",) * 8
    assert len(set(samples.groups or ())) == 4
    assert samples.ids[8] == "2#1"


def test_volumes_of_several_channels_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=np.zeros((2, 2, 8, 8, 8), np.uint8), labels=[0, 1])
    assert "volumes of shape 2 x 8 x 8 x 8 of several channels each" in refused(tmp_path / "a.npz")
