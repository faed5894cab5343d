"""A Dirichlet partition: the counts of given mixes, the floor, what alpha does, and an end to the draws."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition
from pfedgp_core.data.partitions.dirichlet import class_shares, dirichlet
from pfedgp_core.data.partitions.shares import sample_counts
from pfedgp_core.data.simulated import simulated_partition
from pfedgp_core.errors import ConfigError, DataError

GOLDEN = Path(__file__).parents[3] / "golden/golden_baselines_public.json"
CLASSES = 5
SIX = Settings(partition="dirichlet", clients=6, clients_per_round=1)


def labels(train: int, test: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {s: rng.permutation(np.repeat(np.arange(CLASSES), n)) for s, n in (("train", train), ("test", test))}


def held(partition: Partition, known: np.ndarray, split: str = "train") -> np.ndarray:
    """Samples by client and class."""
    return np.array([np.bincount(known[rows], minlength=CLASSES) for rows in partition.indices[split]])


@pytest.mark.parametrize("name", ["dirichlet-01", "dirichlet-1"])
def test_golden_counts(name: str) -> None:
    (case,) = [case for case in json.loads(GOLDEN.read_text())["cases"] if case["id"] == name]
    (wanted,) = [a["value"] for a in case["asserts"] if a["name"] == "largest_remainder_counts"]
    shares = class_shares(np.array(case["inputs"]["proportions"]))
    assert sample_counts(shares, np.array(case["inputs"]["class_counts"])).tolist() == wanted


@examples(max_examples=40)
@given(st.floats(0.3, 100), st.integers(1, 20), st.integers(0, 2**31))
def test_every_client_has_as_many_training_samples_as_the_floor_says(alpha: float, floor: int, seed: int) -> None:
    settings = SIX.replace(dirichlet_alpha=alpha, dirichlet_floor=floor, seed=seed)
    assert min(dirichlet(labels(60), CLASSES, settings).sizes()) >= floor


@examples(max_examples=40)
@given(st.floats(0.05, 100), st.integers(0, 2**31))
def test_no_client_is_tested_on_a_class_that_it_does_not_train_on(alpha: float, seed: int) -> None:
    known = labels(60, 30)
    partition = dirichlet(known, CLASSES, SIX.replace(dirichlet_alpha=alpha, dirichlet_floor=1, seed=seed))
    assert not (held(partition, known["test"], "test") > 0)[held(partition, known["train"]) == 0].any()


def test_test_samples_of_a_class_that_nobody_trains_on_have_a_holder_too() -> None:
    known = {"train": np.repeat(np.arange(CLASSES - 1), 60), "test": np.full(30, CLASSES - 1)}
    assert sum(dirichlet(known, CLASSES, SIX).sizes("test")) == 30


def test_splits_have_the_same_mix() -> None:
    known = labels(600, 600)
    partition = dirichlet(known, CLASSES, SIX.replace(dirichlet_alpha=1.0))
    differences = held(partition, known["train"]) - held(partition, known["test"], "test")
    assert np.abs(differences).max() <= 1


def largest_shares(alpha: float) -> float:
    """Mean over clients of the share that their largest class has."""
    counts = held(dirichlet(labels(600), CLASSES, SIX.replace(dirichlet_alpha=alpha)), labels(600)["train"])
    return float((counts.max(axis=1) / counts.sum(axis=1)).mean())


def test_a_smaller_alpha_makes_clients_of_fewer_classes() -> None:
    shares = [largest_shares(alpha) for alpha in (0.05, 0.5, 5.0, 500.0)]
    assert all(more > less for more, less in itertools.pairwise(shares))


def test_a_large_alpha_is_an_equal_split() -> None:
    assert largest_shares(1e6) == pytest.approx(1 / CLASSES, abs=0.01)


def test_a_floor_that_no_draw_reaches_ends_with_a_sentence() -> None:
    settings = SIX.replace(dirichlet_alpha=0.01, dirichlet_floor=50)
    with pytest.raises(ConfigError, match=r"dirichlet-alpha = 0.01 .*dirichlet-floor = 50 .* 1000 draws: raise"):
        dirichlet(labels(60), CLASSES, settings)


def test_too_few_samples_are_refused_at_once() -> None:
    with pytest.raises(DataError, match="30 training samples are too few for clients = 6 with dirichlet-floor = 10"):
        dirichlet(labels(6), CLASSES, SIX)


def test_a_simulation_with_it() -> None:
    sizes = simulated_partition(Settings(partition="dirichlet")).sizes()
    assert (len(sizes), sum(sizes)) == (20, 1078)


def test_hash_is_the_same_on_every_machine() -> None:
    # A change of this value means that published partitions can no longer be made again from their seed.
    assert (
        simulated_partition(Settings(partition="dirichlet")).hash
        == "82fdb0ebe7064fe94b1cc2eb1f2acced3ca164e12f10b3a136749c6991d2c724"
    )
