"""FEMNIST in LEAF's layout: writers are sites."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.data import datasets
from pfedgp_core.data.datasets import Dataset, load_dataset
from pfedgp_core.data.sets import femnist
from pfedgp_core.data.simulated import left_out_sites, simulated_partition
from pfedgp_core.errors import DataError
from tests.image_files import leaf_user, write_femnist, write_leaf


@pytest.fixture
def data(tmp_path: Path) -> Dataset:
    write_femnist(tmp_path)
    return load_dataset("femnist", str(tmp_path))


def test_writers_are_the_sites(data: Dataset) -> None:
    assert data.sites is not None
    assert data.sites.names == ("f0000_14", "f0001_41", "f0002_00", "f0003_08")
    assert data.sites.counts("test").tolist() == [3, 2, 2, 1]
    assert (data.sites.counts("train") + data.sites.counts("validation")).tolist() == [12, 9, 8, 2]


def test_pixels_are_those_of_the_files(data: Dataset, tmp_path: Path) -> None:
    assert data.sites is not None
    content = json.loads((tmp_path / "data" / "test" / "all_data_1.json").read_text())
    images = np.array(content["user_data"]["f0001_41"]["x"])
    held = data.test.inputs[data.sites.of["test"] == 1]
    np.testing.assert_allclose(held.reshape(2, 784) / 255, images, atol=1e-12)


def test_a_fifth_of_a_writers_training_samples_is_validation(data: Dataset) -> None:
    assert data.sites is not None
    assert np.abs(data.sites.counts("validation") - np.array([12, 9, 8, 2]) / 5).max() < 1


def test_classes_are_digits_and_letters(data: Dataset) -> None:
    assert "".join(data.class_names) == "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def test_files_are_decoded_once(data: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    datasets._load.cache_clear()
    monkeypatch.setattr(femnist, "_decoded", lambda files: pytest.fail("decoded again"))
    again = load_dataset("femnist", str(tmp_path))
    assert np.array_equal(again.train.inputs, data.train.inputs)


def test_the_folder_may_be_the_inner_one(tmp_path: Path) -> None:
    write_femnist(tmp_path)
    assert len(load_dataset("femnist", str(tmp_path / "data")).test) == 8


def test_writers_are_clients_and_small_ones_are_named(data: Dataset, tmp_path: Path) -> None:
    settings = Settings(dataset="femnist", data_root=str(tmp_path), partition="natural", clients=3, clients_per_round=1)
    assert simulated_partition(settings).client_names == ("f0000_14", "f0001_41", "f0002_00")
    assert left_out_sites(settings) == ("f0003_08",)


def test_missing_files_say_how_to_get_them(tmp_path: Path) -> None:
    words = r"lacks data/train/\*.json: set data-root to LEAF's folder data/femnist, or make them with git clone .*leaf"
    with pytest.raises(DataError, match=words):
        load_dataset("femnist", str(tmp_path))


def user(**changes: Any) -> dict[str, Any]:
    return {"w": leaf_user([1, 2]) | changes}


@pytest.mark.parametrize(
    ("users", "changes", "words"),
    [
        (user(), {"num_samples": [3]}, "users and num_samples say something else than user_data"),
        (user(), {"users": ["w", "v"]}, "users and num_samples say something else"),
        (user(), {"users": "w"}, "users is no list"),
        (user(y=[1, 62]), {}, "y of the writer 'w' holds something else than 0 to 61"),
        (user(y=[1.5, 2]), {}, "holds something else than 0 to 61"),
        (user(y=[1]), {}, r"x of the writer 'w' is \[2, 784\] for 1 labels"),
        (user(x=[[0.5] * 784, [1.5] * 784]), {}, "values outside 0 to 1"),
        (user(x=[[0.5] * 784, [0.5] * 783]), {}, "images of several sizes"),
        (user(x=[["a"] * 784, ["b"] * 784]), {}, "no numbers"),
        (user(x=[[0.5] * 100] * 2), {}, r"is \[2, 100\] for 2 labels and not \[N, 784\]"),
        ({"w": {"x": []}}, {}, "are no x and y"),
        ({}, {}, "lacks users, num_samples or user_data"),
    ],
)
def test_files_that_contradict_themselves(tmp_path: Path, users: Any, changes: Any, words: str) -> None:
    write_femnist(tmp_path)
    write_leaf(tmp_path / "data" / "train" / "all_data_1.json", users, **changes)
    with pytest.raises(DataError, match=f"all_data_1.json is no file of LEAF's FEMNIST .*{words}.*git clone"):
        load_dataset("femnist", str(tmp_path))


def test_a_writer_in_two_files(tmp_path: Path) -> None:
    for number in (0, 1):
        write_leaf(tmp_path / "train" / f"{number}.json", user())
    write_leaf(tmp_path / "test" / "0.json", user())
    with pytest.raises(DataError, match="the writer 'w' comes twice"):
        load_dataset("femnist", str(tmp_path))


def test_a_cut_file(tmp_path: Path) -> None:
    write_femnist(tmp_path)
    path = tmp_path / "data" / "test" / "all_data_0.json"
    path.write_text(path.read_text()[:-50])
    with pytest.raises(DataError, match=r"all_data_0.json is no file of LEAF's FEMNIST .*cut"):
        load_dataset("femnist", str(tmp_path))
