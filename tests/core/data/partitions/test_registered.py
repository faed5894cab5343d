"""What every registered partition promises: disjoint, complete, decided by the seed, the same hash anywhere."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition
from pfedgp_core.errors import DataError
from pfedgp_core.registry import PARTITIONS as REGISTERED

# One of them is made by a package that need not be here, another needs sites; both have their own tests.
PARTITIONS = {name: entry for name, entry in REGISTERED.items() if name != "flwr-datasets" and not entry.sites}
CLASSES = 4
FEW = Settings(clients=8, clients_per_round=1, classes_per_client=2, dirichlet_alpha=1.0, dirichlet_floor=1)
SPLITS = ("train", "validation", "test")
NAMES = st.sampled_from(sorted(PARTITIONS))
SEEDS = st.integers(0, 2**31)
SIZES = st.tuples(st.integers(8, 40), st.integers(0, 20), st.integers(0, 20))


def labels(sizes: tuple[int, int, int], seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {s: rng.permutation(np.repeat(np.arange(CLASSES), n)) for s, n in zip(SPLITS, sizes, strict=True)}


def split(name: str, sizes: tuple[int, int, int] = (40, 9, 9), seed: int = 0) -> Partition:
    made = PARTITIONS[name].load()(labels(sizes, seed), CLASSES, FEW.replace(seed=seed))
    assert isinstance(made, Partition)
    return made


@examples(max_examples=60)
@given(NAMES, SIZES, SEEDS)
def test_every_sample_has_one_holder(name: str, sizes: tuple[int, int, int], seed: int) -> None:
    partition = split(name, sizes, seed)
    held = {s: np.sort(np.concatenate(partition.indices[s])).tolist() for s in SPLITS}
    assert held == {s: list(range(CLASSES * n)) for s, n in zip(SPLITS, sizes, strict=True)}


@examples(max_examples=60)
@given(NAMES, SIZES, SEEDS)
def test_clients_hold_no_class_that_is_not_said_to_be_theirs(name: str, sizes: tuple[int, int, int], seed: int) -> None:
    partition, known = split(name, sizes, seed), labels(sizes, seed)
    for s, client in itertools.product(SPLITS, range(FEW.clients)):
        assert set(known[s][partition.indices[s][client]]) <= set(partition.classes[client])


@pytest.mark.parametrize("name", PARTITIONS)
def test_fractions_of_a_class_sum_to_one(name: str) -> None:
    partition, total = split(name), np.zeros(CLASSES)
    for own, shares in zip(partition.classes, partition.fractions, strict=True):
        total[list(own)] += shares
    np.testing.assert_allclose(total, 1, atol=1e-12)


@pytest.mark.parametrize("name", PARTITIONS)
def test_the_seed_decides(name: str) -> None:
    assert split(name, seed=3) == split(name, seed=3)


@pytest.mark.parametrize("name", PARTITIONS)
def test_another_seed_gives_another_partition(name: str) -> None:
    known = labels((40, 9, 9))
    first, other = (PARTITIONS[name].load()(known, CLASSES, FEW.replace(seed=seed)) for seed in (3, 4))
    assert first != other


@pytest.mark.parametrize("name", PARTITIONS)
def test_the_file_gives_the_same_partition(name: str) -> None:
    assert Partition.from_json(split(name).to_json()) == split(name)


@pytest.mark.parametrize("name", PARTITIONS)
def test_clients_are_named_alike(name: str) -> None:
    assert split(name).client_names == tuple(f"client-{i:02d}" for i in range(FEW.clients))


@pytest.mark.parametrize("name", PARTITIONS)
def test_labels_out_of_range_are_refused(name: str) -> None:
    with pytest.raises(DataError, match="give class ids from 0 to 3"):
        PARTITIONS[name].load()({"train": np.array([0, 4])}, CLASSES, FEW)


@pytest.mark.parametrize("name", PARTITIONS)
def test_samples_without_classes_can_be_split(name: str) -> None:
    one = FEW.replace(classes_per_client=1)
    partition = PARTITIONS[name].load()({"train": np.zeros(30, np.int64)}, 1, one)
    assert sum(partition.sizes()) == 30
