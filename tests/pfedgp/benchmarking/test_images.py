"""The images that the benchmark learns from."""

import torch

from pfedgp.benchmarking.images import INPUT_SHAPE, digit_images, easily_confused
from pfedgp_core.numerics.streams import Stream


def test_images_are_balanced_distinct_and_reproducible() -> None:
    data = digit_images((3, 8), 300, Stream(1, "a"))
    assert data.inputs.shape == (300, *INPUT_SHAPE)
    assert data.inputs.dtype == torch.float32
    assert data.labels.unique(return_counts=True)[1].tolist() == [150, 150]
    assert len(data.inputs.flatten(1).unique(dim=0)) == 300
    assert abs(data.inputs.mean()) < 0.6
    assert 0.2 < data.inputs.std() < 1.5
    again = digit_images((3, 8), 300, Stream(1, "a"))
    assert torch.equal(again.inputs, data.inputs)
    assert torch.equal(again.labels, data.labels)
    assert not torch.equal(digit_images((3, 8), 300, Stream(1, "b")).inputs, data.inputs)
    assert set(easily_confused(10)) == set(range(10))
