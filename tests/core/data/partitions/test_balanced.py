"""Balanced Dirichlet partitions: equal sizes, mixes by alpha, nothing left over."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.dirichlet import balanced_counts, dirichlet

CLASSES = 5
SIX = Settings(partition="dirichlet", clients=6, clients_per_round=1, dirichlet_balanced=True)
TRAIN = np.random.default_rng(0).permutation(np.repeat(np.arange(CLASSES), 60))


@examples(max_examples=40)
@given(st.floats(0.01, 100), st.integers(0, 2**31))
def test_all_clients_have_equally_many_training_samples(alpha: float, seed: int) -> None:
    made = dirichlet({"train": TRAIN}, CLASSES, SIX.replace(dirichlet_alpha=alpha, seed=seed))
    assert set(made.sizes()) == {50}


@examples(max_examples=40)
@given(st.lists(st.integers(0, 40), min_size=3, max_size=3), st.integers(1, 9), st.integers(0, 2**31))
def test_counts_have_both_margins(class_counts: list[int], clients: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    counts = balanced_counts(rng.dirichlet([0.1] * 3, clients), np.array(class_counts), rng)
    assert counts.sum(axis=0).tolist() == class_counts
    assert np.ptp(counts.sum(axis=1)) <= 1


def largest_share(alpha: float) -> float:
    made = dirichlet({"train": TRAIN}, CLASSES, SIX.replace(dirichlet_alpha=alpha))
    held = np.array([np.bincount(TRAIN[rows], minlength=CLASSES) for rows in made.indices["train"]])
    return float((held.max(axis=1) / held.sum(axis=1)).mean())


def test_a_smaller_alpha_makes_clients_of_fewer_classes() -> None:
    assert largest_share(0.05) > largest_share(1.0) > largest_share(1000.0)


def test_the_first_client_follows_its_mix() -> None:
    # With plenty of every class the counts are one multinomial draw of the mix.
    mix = np.array([[0.7, 0.2, 0.1]])
    counts = balanced_counts(mix.repeat(2, axis=0), np.full(3, 20_000), np.random.default_rng(1))
    first = counts[(counts[:, 0] / counts.sum(axis=1)).argmax()] / 30_000
    assert first == pytest.approx([2 / 3, 0.2, 0.1], abs=0.08)


def test_a_floor_above_the_size_is_refused() -> None:
    with pytest.raises(Exception, match="300 training samples are too few for clients = 6 with dirichlet-floor = 60"):
        dirichlet({"train": TRAIN}, CLASSES, SIX.replace(dirichlet_floor=60))
