"""Streams: named, reproducible, independent of each other and of every global generator."""

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from pfedgp_core.errors import NonFiniteError
from pfedgp_core.numerics.streams import Stream

PARTS = st.lists(st.one_of(st.integers(0, 100), st.text(max_size=5)), max_size=4)


def test_same_name_same_numbers():
    first, second = (Stream(7, "train", 3, "client-04", 1) for _ in range(2))
    assert torch.equal(first.normal(5, 4), second.normal(5, 4))
    assert torch.equal(first.permutation(20), second.permutation(20))
    z = torch.linspace(-30, 30, 40)
    assert torch.equal(first.polya_gamma(z), second.polya_gamma(z))
    assert first.numpy.random() == second.numpy.random()
    assert torch.equal(*(torch.rand(4, generator=stream.torch_generator) for stream in (first, second)))


def test_a_stream_advances():
    stream = Stream(0, "x")
    assert not torch.equal(stream.normal(10), stream.normal(10))
    assert not torch.equal(stream.polya_gamma(torch.zeros(10)), stream.polya_gamma(torch.zeros(10)))


def test_children():
    parent = Stream(3, "train", 1)
    before = parent.child("client-00", 2).normal(6)
    parent.normal(100)
    assert torch.equal(before, parent.child("client-00", 2).normal(6))  # whatever the parent drew
    assert torch.equal(before, Stream(3, "train", 1, "client-00", 2).normal(6))
    assert torch.equal(before, parent.child("client-00").child(2).normal(6))
    assert parent.child("a").device == parent.device


@given(a=PARTS, b=PARTS)
def test_different_names_different_numbers(a, b):
    same = torch.equal(Stream(0, *a).normal(8), Stream(0, *b).normal(8))
    assert same == (a == b)


def test_integers_texts_and_grouping_are_told_apart():
    names = [(1,), ("1",), (1, 1), (11,), ("1", "1"), ("11",), ("1, 1",), (), ("",), ("", "")]
    draws = [tuple(Stream(0, *name).normal(4).tolist()) for name in names]
    assert len(set(draws)) == len(names)
    assert Stream(1).normal(1) != Stream(0, 1).normal(1) != Stream(10).normal(1)


def test_numpy_integers_name_the_same_stream():
    assert torch.equal(Stream(5, 3).normal(4), Stream(np.int64(5), np.int32(3)).normal(4))
    assert torch.equal(Stream(5).child(3).normal(4), Stream(5).child(np.int64(3)).normal(4))


@pytest.mark.parametrize("part", [1.0, None, b"x", (1,)])
def test_other_parts_are_refused(part):
    with pytest.raises(TypeError):
        Stream(0, part)


def test_streams_that_agree_in_the_low_bits_of_their_seed_differ():
    """torch's CPU generator keeps 32 bits of a seed; a stream keeps 128."""
    a, b = Stream(0), Stream(1)
    a.__dict__["_entropy"], b.__dict__["_entropy"] = 12345, 12345 + 2**64
    assert not torch.equal(a.normal(8), b.normal(8))
    assert not torch.equal(a.permutation(50), b.permutation(50))


def test_streams_are_uncorrelated():
    draws = np.stack([Stream(0, "client", i).normal(2000).numpy() for i in range(40)])
    correlation = np.corrcoef(draws) - np.eye(40)
    assert np.abs(correlation).max() < 4.5 / 2000**0.5
    assert abs(draws.mean()) < 0.02
    assert abs(draws.std() - 1) < 0.02


def test_global_generators_neither_matter_nor_move():
    np.random.seed(1)
    torch.manual_seed(1)
    first = Stream(0, "x").normal(5)
    states = torch.get_rng_state(), np.random.get_state()[1].copy()
    stream = Stream(0, "x")
    stream.normal(5), stream.permutation(5), stream.polya_gamma(torch.zeros(5)), stream.numpy.random()
    torch.rand(1, generator=stream.torch_generator)
    assert torch.equal(states[0], torch.get_rng_state())
    assert np.array_equal(states[1], np.random.get_state()[1])
    np.random.seed(2)
    torch.manual_seed(2)
    assert torch.equal(first, Stream(0, "x").normal(5))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.float64])
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3, 4)])
def test_normal(dtype, shape):
    draws = Stream(0).normal(*shape, dtype=dtype)
    assert draws.shape == shape
    assert draws.dtype == dtype
    assert draws.device.type == "cpu"


def test_permutation():
    assert Stream(0).permutation(0).tolist() == []
    draws = [tuple(Stream(seed).permutation(4).tolist()) for seed in range(400)]
    assert Stream(0).permutation(4).dtype == torch.int64
    assert set(draws) == set(itertools.permutations(range(4)))


def test_polya_gamma_refuses_nan():
    with pytest.raises(NonFiniteError):
        Stream(0).polya_gamma(torch.tensor([0.0, float("nan")]))


def test_repr_names_the_stream():
    assert repr(Stream(3, "train", 1)) == "Stream(seed=3, path=('train', 1), device='cpu')"


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_cuda():
    for draw in (
        lambda stream: stream.normal(9),
        lambda stream: stream.permutation(9),
        lambda stream: stream.polya_gamma(torch.ones(9, device="cuda")),
    ):
        first, second = (draw(Stream(0, "x", device="cuda")) for _ in range(2))
        assert first.is_cuda
        assert torch.equal(first, second)
    assert Stream(0, device="cuda").polya_gamma(torch.tensor([float("nan")], device="cuda")).isnan().all()
