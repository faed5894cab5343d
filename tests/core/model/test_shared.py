"""The flat vector of shared parameters: exact round trip, refused where it does not fit, decided by the seed."""

import numpy as np
import pytest
import torch

from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError
from pfedgp_core.model.shared import SharedState


def state(seed=0):
    return SharedState.initial(Settings(seed=seed), (1, 8, 8), 10)


def test_round_trip_is_exact():
    first, second = state(0), state(1)
    vector = first.to_vector()
    assert vector.dtype == np.float32
    assert vector.shape == (first.size,)
    assert (vector != second.to_vector()).any()
    assert (vector == state(0).to_vector()).all()
    second.load_vector(vector)
    inputs = torch.randn(3, 1, 8, 8)
    assert torch.equal(first.network(inputs), second.network(inputs))


def test_to_vector_is_a_copy():
    shared = state()
    vector = shared.to_vector()
    vector[:] = 0
    assert (shared.to_vector() != 0).any()


@pytest.mark.parametrize("change", ["short", "nan"])
def test_misfits_are_refused_and_change_nothing(change):
    shared = state()
    before = shared.to_vector()
    bad = before[:-1] if change == "short" else np.where(np.arange(len(before)) == 5, np.nan, before)
    with pytest.raises(DataError):
        shared.load_vector(bad)
    assert (shared.to_vector() == before).all()


def test_counters_stay_and_running_statistics_travel():
    shared = SharedState(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)))
    assert shared.size == 2 * 3 + 3 + 2 * 3 + 2 * 3  # weights, scale and shift, running mean and variance
    shared.network(torch.randn(4, 2))
    other = SharedState(torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3)))
    other.load_vector(shared.to_vector())
    assert int(other.network[1].num_batches_tracked) == 0
    torch.testing.assert_close(other.network[1].running_mean, shared.network[1].running_mean)
