"""A site's own data: folders of images, data in splits, what is no data."""

from pathlib import Path

import numpy as np
from PIL import Image

from pfedgp_core.data.own.class_ids import to_split
from pfedgp_core.data.own.reader import check_data, read_samples, read_splits
from tests.data_files import IMAGES, NAMES, folder, refused


def test_folder_of_images(tmp_path: Path) -> None:
    samples = read_samples(folder(tmp_path), input_shape=(1, 8, 6))
    np.testing.assert_array_equal(samples.inputs[:, 0], IMAGES)
    assert samples.labels == tuple(NAMES)
    assert samples.ids == tuple(f"{name}/{i}.png" for i, name in enumerate(NAMES))
    split = to_split(samples, ("bird", "cat", "dog"))
    assert split.labels.tolist() == [1, 1, 1, 2, 2, 2]


def test_grey_and_colour_as_the_model_asks(tmp_path: Path) -> None:
    grey = folder(tmp_path / "grey")
    colour = read_samples(grey, input_shape=(3, 8, 6)).inputs
    assert colour.shape == (6, 3, 8, 6)
    assert (colour == colour[:, :1]).all()
    rgb = np.repeat(IMAGES[..., None], 3, axis=3)
    assert read_samples(folder(tmp_path / "rgb", rgb), input_shape=(1, 8, 6)).inputs.shape == (6, 1, 8, 6)
    np.testing.assert_array_equal(read_samples(tmp_path / "rgb").inputs, colour)
    # One coloured image among grey ones.
    Image.fromarray(rgb[0]).save(grey / "dog" / "z.png")
    assert read_samples(grey).inputs.shape == (7, 3, 8, 6)
    assert "Grey among coloured images: 6 of 7" in check_data(grey).text()
    assert "Grey among" not in check_data(grey, input_shape=(1, 8, 6)).text() + check_data(tmp_path / "rgb").text()


def test_other_sizes_are_refused_unless_resized(tmp_path: Path) -> None:
    folder(tmp_path)
    Image.fromarray(IMAGES[0, :4]).save(tmp_path / "dog" / "small.png")
    assert "1 of 7 images, 1 of 4 x 6" in refused(tmp_path, input_shape=(1, 8, 6))
    assert "the most common size" in refused(tmp_path)
    assert read_samples(tmp_path, input_shape=(1, 8, 6), resize=True).inputs.shape == (7, 1, 8, 6)
    assert "the model takes inputs of shape 5" in refused(tmp_path, input_shape=(5,))


def test_damaged_and_missing_files(tmp_path: Path) -> None:
    (tmp_path / "a.npz").write_bytes(b"PK\x03\x04broken")
    assert "cannot be read as .npz" in refused(tmp_path / "a.npz")
    assert "There is nothing at" in refused(tmp_path / "none")
    (tmp_path / "a.xlsx").touch()
    assert "of no known kind" in refused(tmp_path / "a.xlsx")
    (tmp_path / "empty").mkdir()
    assert "no image" in refused(tmp_path / "empty")


def test_splits(tmp_path: Path) -> None:
    folder(tmp_path / "train")
    np.savez(tmp_path / "val.npz", x=IMAGES[:, None], y=NAMES)
    (tmp_path / "README.txt").touch()
    parts = read_splits(tmp_path)
    assert list(parts) == ["train", "validation"]
    assert parts["validation"].labels == tuple(NAMES)
    assert "has the splits train, validation" in refused(tmp_path)
    assert len(read_samples(tmp_path, split="train")) == 6
    assert [part.split for part in check_data(tmp_path).splits] == ["train", "validation"]
    # Classes may be called like splits.
    (tmp_path / "x").mkdir()
    for name in ("train", "test"):
        (tmp_path / "x" / name).mkdir()
        Image.fromarray(IMAGES[0]).save(tmp_path / "x" / name / "1.png")
    assert list(read_splits(tmp_path / "x")) == ["train"]
    assert read_samples(tmp_path / "x").labels == ("test", "train")
