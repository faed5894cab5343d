"""Quantity skew: sizes by alpha above the floor, and one mix of classes for all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.quantity import quantity
from pfedgp_core.data.simulated import simulated_partition
from pfedgp_core.errors import DataError

CLASSES = 4
EIGHT = Settings(partition="quantity", clients=8, clients_per_round=1)
TRAIN = np.random.default_rng(0).permutation(np.repeat(np.arange(CLASSES), 2000))


def sizes(alpha: float, seed: int = 0, floor: int = 10) -> tuple[int, ...]:
    made = quantity({"train": TRAIN}, CLASSES, EIGHT.replace(dirichlet_alpha=alpha, seed=seed, dirichlet_floor=floor))
    return made.sizes()


@examples(max_examples=30)
@given(st.floats(0.01, 100), st.integers(1, 1000), st.integers(0, 2**31))
def test_every_client_has_the_floor(alpha: float, floor: int, seed: int) -> None:
    assert min(sizes(alpha, seed, floor)) >= floor


def test_a_smaller_alpha_makes_sizes_more_unequal() -> None:
    spreads = [float(np.std(sizes(alpha))) for alpha in (0.1, 1.0, 1000.0)]
    assert spreads == sorted(spreads, reverse=True)


def test_large_clients_have_the_mix_of_the_whole() -> None:
    made = quantity({"train": TRAIN}, CLASSES, EIGHT.replace(dirichlet_alpha=1.0))
    rows = max(made.indices["train"], key=len)
    share = np.bincount(TRAIN[rows], minlength=CLASSES) / len(rows)
    assert share == pytest.approx([0.25] * CLASSES, abs=4 * (0.19 / len(rows)) ** 0.5)


def test_too_few_samples_are_refused() -> None:
    with pytest.raises(
        DataError, match="8000 training samples are too few for clients = 8 with dirichlet-floor = 1001"
    ):
        sizes(1.0, floor=1001)


def test_regression_data_can_have_it() -> None:
    settings = EIGHT.replace(dataset="diabetes", task="regression", dirichlet_alpha=0.5)
    assert sum(simulated_partition(settings).sizes()) == 265
