"""Equal random shares: as equal as whole samples can be, of each class and of all together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.homogeneous import homogeneous
from pfedgp_core.data.simulated import simulated_partition
from pfedgp_core.errors import DataError


def held(counts: list[int], clients: int, seed: int) -> np.ndarray:
    """Training samples by client and class."""
    labels = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    partition = homogeneous({"train": labels}, len(counts), Settings(clients=clients, clients_per_round=1, seed=seed))
    return np.array([np.bincount(labels[rows], minlength=len(counts)) for rows in partition.indices["train"]])


@settings(max_examples=60)
@given(st.lists(st.integers(6, 40), min_size=1, max_size=6), st.integers(1, 6), st.integers(0, 2**31))
def test_numbers_of_each_class_differ_by_one_at_most(counts: list[int], clients: int, seed: int) -> None:
    assert np.ptp(held(counts, clients, seed), axis=0).max() <= 1


@settings(max_examples=60)
@given(st.lists(st.integers(6, 40), min_size=1, max_size=6), st.integers(1, 6), st.integers(0, 2**31))
def test_every_client_trains_on_every_class(counts: list[int], clients: int, seed: int) -> None:
    assert held(counts, clients, seed).min() >= 1


@settings(max_examples=60)
@given(st.lists(st.integers(6, 40), min_size=1, max_size=6), st.integers(1, 6), st.integers(0, 2**31))
def test_numbers_of_all_classes_differ_by_one_at_most(counts: list[int], clients: int, seed: int) -> None:
    assert np.ptp(held(counts, clients, seed).sum(axis=1)) <= 1


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(DataError, match="Class 1 has 2 training samples for 3 clients"):
        held([9, 2], 3, 0)


def test_a_client_may_hold_all() -> None:
    assert held([7, 9], 1, 0).tolist() == [[7, 9]]


def test_which_samples_a_client_holds_is_drawn() -> None:
    partition = homogeneous({"train": np.zeros(100, np.int64)}, 1, Settings(clients=2, clients_per_round=1))
    assert np.ptp(np.diff(partition.indices["train"][0])) > 0


def test_a_simulation_with_it() -> None:
    partition = simulated_partition(Settings(partition="homogeneous", clients=7))
    assert sorted(partition.sizes()) == [154] * 7


@pytest.mark.parametrize("task", [("regression", "diabetes"), ("classification", "digits")])
def test_hash_is_the_same_on_every_machine(task: tuple[str, str]) -> None:
    # A change of these values means that published partitions can no longer be made again from their seed.
    known = {"diabetes": "379ff5083f0f", "digits": "ed618ce3d96f"}
    partition = simulated_partition(Settings(partition="homogeneous", task=task[0], dataset=task[1]))
    assert partition.hash[:12] == known[task[1]]
