"""Extended Dirichlet: k classes each, equally many holders of a class, unequal parts by alpha."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.extended_dirichlet import extended_dirichlet
from pfedgp_core.errors import ConfigError, DataError

CLASSES = 5
TEN = Settings(partition="extended-dirichlet", clients=10, clients_per_round=1, classes_per_client=2)
TRAIN = np.random.default_rng(0).permutation(np.repeat(np.arange(CLASSES), 60))


def held(alpha: float, seed: int = 0, floor: int = 10) -> np.ndarray:
    settings = TEN.replace(dirichlet_alpha=alpha, seed=seed, dirichlet_floor=floor)
    made = extended_dirichlet({"train": TRAIN}, CLASSES, settings)
    return np.array([np.bincount(TRAIN[rows], minlength=CLASSES) for rows in made.indices["train"]])


@examples(max_examples=30)
@given(st.floats(0.01, 100), st.integers(0, 2**31))
def test_every_client_holds_k_classes(alpha: float, seed: int) -> None:
    assert set((held(alpha, seed) > 0).sum(axis=1)) == {2}


@examples(max_examples=30)
@given(st.floats(0.01, 100), st.integers(0, 2**31))
def test_every_class_has_equally_many_holders(alpha: float, seed: int) -> None:
    assert set((held(alpha, seed) > 0).sum(axis=0)) == {4}


@examples(max_examples=30)
@given(st.integers(1, 30), st.integers(0, 2**31))
def test_every_client_has_the_floor(floor: int, seed: int) -> None:
    assert held(0.01, seed, floor).sum(axis=1).min() >= floor


def test_a_smaller_alpha_makes_parts_more_unequal() -> None:
    spreads = [held(alpha).sum(axis=1).std() for alpha in (0.05, 1.0, 1000.0)]
    assert spreads == sorted(spreads, reverse=True)


def test_a_floor_that_no_class_allows_is_refused() -> None:
    with pytest.raises(DataError, match="Class 0 has 60 training samples for 4 clients with at least 20 of it each"):
        held(1.0, floor=40)


def test_clients_that_cannot_hold_classes_equally_often_are_refused() -> None:
    with pytest.raises(ConfigError, match="classes-per-client = 2 cannot hold each of the 5 classes equally often"):
        extended_dirichlet({"train": TRAIN}, CLASSES, TEN.replace(clients=9))
