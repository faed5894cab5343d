"""Images that stay bytes: the same numbers as those of the tensor that they stand for."""

import copy
import pickle

import numpy as np
import pytest
import torch

from pfedgp_core.data import samples as module
from pfedgp_core.data.pixels import Pixels
from pfedgp_core.data.samples import Split, normalised
from pfedgp_core.errors import DataError
from pfedgp_core.model.features import FeaturePass, compute_features
from pfedgp_core.model.network import build_network

IMAGES = np.random.default_rng(0).integers(0, 256, (300, 3, 32, 32), dtype=np.uint8)
MEAN, STD = np.array([0.3, 0.5, 0.6], np.float32), np.array([0.2, 0.25, 0.3], np.float32)


@pytest.fixture
def pair(monkeypatch: pytest.MonkeyPatch) -> tuple[Pixels, torch.Tensor]:
    """Bytes, and the tensor of the same images."""
    split = Split(IMAGES, np.zeros(len(IMAGES), np.int64))
    tensor = normalised(split, MEAN, STD).inputs
    monkeypatch.setattr(module, "SMALL", 1000)
    pixels = normalised(split, MEAN, STD).inputs
    assert isinstance(pixels, Pixels)
    assert isinstance(tensor, torch.Tensor)
    return pixels, tensor


def test_large_images_stay_bytes_and_small_ones_do_not(pair: tuple[Pixels, torch.Tensor]) -> None:
    pixels, tensor = pair
    assert pixels.values.dtype == torch.uint8
    assert pixels.values.nbytes * 4 == tensor.nbytes


def test_batches_rows_and_the_whole_have_the_bits_of_the_tensor(pair: tuple[Pixels, torch.Tensor]) -> None:
    pixels, tensor = pair
    assert torch.equal(torch.cat(list(pixels.split(128))), tensor)
    rows = torch.tensor([7, 3, 299])
    assert torch.equal(pixels[rows], tensor[rows])
    assert torch.equal(pixels[5], tensor[5])
    assert torch.equal(pixels[10:20], tensor[10:20])
    assert torch.equal(torch.stack(list(pixels)), tensor)


def test_its_measures_are_those_of_the_tensor(pair: tuple[Pixels, torch.Tensor]) -> None:
    pixels, tensor = pair
    for look in ("shape", "ndim", "device", "dtype"):
        assert getattr(pixels, look) == getattr(tensor, look)
    assert (len(pixels), pixels.numel(), pixels.element_size()) == (len(tensor), tensor.numel(), tensor.element_size())


def test_what_else_is_asked_is_asked_of_the_tensor(pair: tuple[Pixels, torch.Tensor]) -> None:
    pixels, tensor = pair
    assert torch.equal(pixels.flatten(1), tensor.flatten(1))
    assert pixels.mean() == tensor.mean()
    assert torch.equal(torch.relu(pixels), torch.relu(tensor))  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        pixels.nothing_of_that_name  # noqa: B018


def test_copies_are_whole(pair: tuple[Pixels, torch.Tensor]) -> None:
    pixels, tensor = pair
    for made in (copy.deepcopy(pixels), pickle.loads(pickle.dumps(pixels)), pixels.to(torch.device("cpu"))):
        assert torch.equal(made.normalised(), tensor)


@pytest.mark.parametrize("keep", [True, False])
def test_features_and_gradients_have_the_same_bits(
    pair: tuple[Pixels, torch.Tensor], keep: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pfedgp_core.model import features as features_module

    monkeypatch.setattr(features_module, "KEEP_GRAPH_BYTES", 2**40 if keep else 0)
    found = []
    for inputs in pair:
        network = build_network("lenet", (3, 32, 32), 16, torch.Generator().manual_seed(0))
        passed = FeaturePass(network, inputs)
        passed.features.square().sum().backward()
        passed.backward()
        found.append([compute_features(network, inputs), passed.features, *(p.grad for p in network.parameters())])
    for ours, theirs in zip(*found, strict=True):
        assert torch.equal(ours, theirs)


def test_a_scale_that_gives_no_numbers_is_refused_without_making_them() -> None:
    with pytest.raises(DataError, match="NaN or infinity"):
        normalised(Split(IMAGES[:1], np.zeros(1, np.int64)), MEAN, np.full(3, 1e-45, np.float32))
