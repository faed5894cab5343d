"""The paper's partition: disjoint, complete, balanced holders, one mix of classes in all splits."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pfedgp_core.data.partitions.base import Partition
from pfedgp_core.data.partitions.k_class import (
    HIGH,
    LOW,
    assign_classes,
    fraction_bounds,
    fractions,
    k_class_partition,
    largest_remainder_counts,
)
from pfedgp_core.errors import ArtefactError, ConfigError, DataError


def make_labels(n_classes: int, train: int, validation: int = 7, test: int = 5, seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    sizes = {"train": train, "validation": validation, "test": test}
    return {split: rng.permutation(np.repeat(np.arange(n_classes), n)) for split, n in sizes.items()}


@st.composite
def feasible(draw: st.DrawFn) -> tuple[int, int, int]:
    """(n_classes, clients, k) with clients * k divisible by n_classes."""
    n_classes = draw(st.integers(1, 12))
    k = draw(st.integers(1, n_classes))
    step = n_classes // np.gcd(k, n_classes)
    return n_classes, int(step) * draw(st.integers(1, 6)), k


def golden_assert(case: dict, prefix: str) -> dict:
    (found,) = [a["value"] for a in case["asserts"] if a["name"].startswith(prefix)]
    return found


def test_golden_fractions_and_counts(golden):
    case = golden.case("partition_counts")
    wanted_fractions = golden_assert(case, "fractions")
    wanted_counts = golden_assert(case, "largest-remainder")
    for name, row in case["inputs"].items():
        got = fractions(row["alpha"])
        np.testing.assert_allclose(got, wanted_fractions[name], atol=1e-12, rtol=0)
        assert list(largest_remainder_counts(got, row["n"])) == wanted_counts[name]
        assert list(largest_remainder_counts([float(a) for a in row["alpha"]], row["n"])) == wanted_counts[name]


def test_golden_fraction_bounds(golden):
    for holders, wanted in golden_assert(golden.case("partition_counts"), "fraction bounds").items():
        np.testing.assert_allclose(fraction_bounds(int(holders)), wanted, atol=1e-12, rtol=0)


@pytest.mark.slow
def test_golden_properties(golden):
    for row in golden.case("partition_properties")["inputs"]["settings"]:
        n_classes, clients, k = row["classes"], row["clients"], row["k"]
        per_class = round(row["mean_train"] * clients / n_classes)
        partition = k_class_partition(make_labels(n_classes, per_class), n_classes, clients, k, seed=0)
        holders = np.bincount(np.concatenate(partition.classes), minlength=n_classes)
        assert set(holders) == {row["clients_per_class"]}
        assert np.mean(partition.sizes()) == row["mean_train"]
        assert all(len(set(own)) == k for own in partition.classes)


@settings(max_examples=60)
@given(feasible(), st.integers(0, 2**31), st.integers(0, 30))
def test_disjoint_complete_balanced(shape, seed, extra):
    n_classes, clients, k = shape
    holders = clients * k // n_classes
    labels = make_labels(n_classes, holders + extra, validation=extra, test=3, seed=seed)
    partition = k_class_partition(labels, n_classes, clients, k, seed)

    assert len(partition.client_names) == len(set(partition.client_names)) == clients
    assert np.bincount(np.concatenate(partition.classes), minlength=n_classes).tolist() == [holders] * n_classes
    for own, share in zip(partition.classes, partition.fractions, strict=True):
        assert len(set(own)) == len(share) == k
        assert list(own) == sorted(own)
    for split, each in partition.indices.items():
        everything = np.concatenate(each)
        assert len(everything) == len(labels[split])
        assert np.array_equal(np.sort(everything), np.arange(len(labels[split])))
        for own, rows in zip(partition.classes, each, strict=True):
            assert set(labels[split][rows]) <= set(own)
    for own, rows in zip(partition.classes, partition.indices["train"], strict=True):
        assert set(labels["train"][rows]) == set(own), "a client lacks training data of one of its classes"


@settings(max_examples=30)
@given(feasible(), st.integers(0, 2**31))
def test_same_fractions_in_every_split(shape, seed):
    n_classes, clients, k = shape
    holders = clients * k // n_classes
    labels = make_labels(n_classes, 40 * holders, validation=17 * holders + 1, test=10 * holders, seed=seed)
    partition = k_class_partition(labels, n_classes, clients, k, seed)
    low, high = fraction_bounds(holders)
    totals = np.zeros(n_classes)
    for i, (own, share) in enumerate(zip(partition.classes, partition.fractions, strict=True)):
        for c, fraction in zip(own, share, strict=True):
            totals[c] += fraction
            assert low - 1e-12 <= fraction <= high + 1e-12
            for split, each in partition.indices.items():
                held = int((labels[split][each[i]] == c).sum())
                assert abs(held - fraction * int((labels[split] == c).sum())) < 1
    np.testing.assert_allclose(totals, 1.0, atol=1e-12)


def test_deterministic_and_seeded():
    labels = make_labels(10, 50)
    first, again, other = (k_class_partition(labels, 10, 20, 2, seed) for seed in (3, 3, 4))
    assert first.hash == again.hash
    assert first == again
    assert hash(first) == hash(again)
    assert first.hash != other.hash
    assert first != other
    assert first.classes != other.classes


def test_hash_is_the_same_on_every_machine():
    # A change of this value means that published partitions can no longer be made again from their seed.
    partition = k_class_partition(make_labels(4, 9), 4, 4, 2, seed=1)
    assert partition.hash == "5c46165b9ae89b214eef97e0a95dac775f4e5c00d525dc44fa793c02def7ca6a"


def test_classes_and_fractions_do_not_depend_on_the_labels():
    small, large = (k_class_partition(make_labels(10, n), 10, 20, 2, seed=5) for n in (10, 90))
    assert small.classes == large.classes
    assert small.fractions == large.fractions


def test_classes_are_mixed_between_clients():
    partition = k_class_partition(make_labels(10, 200), 10, 500, 2, seed=0)
    pairs = set(partition.classes)
    assert len(pairs) == 45, "with 500 clients every pair of 10 classes should occur"


@pytest.mark.parametrize(("n_classes", "clients", "k"), [(10, 5, 2), (10, 1, 10), (100, 10, 10), (7, 7, 6), (1, 3, 1)])
def test_assignment_always_succeeds(n_classes, clients, k):
    for seed in range(200):
        table = assign_classes(n_classes, clients, k, np.random.default_rng(seed))
        assert np.bincount(table.ravel(), minlength=n_classes).tolist() == [clients * k // n_classes] * n_classes
        assert all(len(set(row)) == k for row in table)


@pytest.mark.parametrize(
    ("clients", "k", "words"),
    [
        (7, 2, ["clients = 7", "classes-per-client = 2", "10 classes", "use clients = 5 or 10"]),
        (2, 3, ["use clients = 10, or classes-per-client = 5."]),
        (20, 11, ["classes-per-client = 11", "at most 10"]),
        (0, 2, ["clients = 0"]),
        (10, 0, ["classes-per-client = 0"]),
    ],
)
def test_impossible_shapes_are_refused(clients, k, words):
    with pytest.raises(ConfigError) as caught:
        k_class_partition(make_labels(10, 50), 10, clients, k, 0)
    assert all(word in str(caught.value) for word in words)


def test_suggested_numbers_work():
    for n_classes, clients, k in [(10, 7, 4), (6, 5, 4), (100, 33, 10), (10, 2, 2)]:
        with pytest.raises(ConfigError) as caught:
            assign_classes(n_classes, clients, k, np.random.default_rng(0))
        remedy = str(caught.value).split("use clients = ")[1].rstrip(".")
        of_clients, of_classes = remedy.split(", or classes-per-client = ")
        for suggestion in of_clients.split(" or "):
            assign_classes(n_classes, int(suggestion), k, np.random.default_rng(0))
        assign_classes(n_classes, clients, int(of_classes), np.random.default_rng(0))


def test_too_few_samples_of_a_class():
    labels = make_labels(10, 50)
    labels["train"] = labels["train"][labels["train"] != 3]
    labels["train"] = np.concatenate([labels["train"], [3, 3]])
    with pytest.raises(DataError, match=r"Class 3 has 2 training samples for 4 clients .* fewer clients"):
        k_class_partition(labels, 10, 20, 2, 0)


def test_small_evaluation_splits_are_allowed():
    labels = make_labels(4, 30, validation=1, test=0)
    partition = k_class_partition(labels, 4, 20, 2, 0)
    assert sum(partition.sizes("validation")) == 4
    assert 0 in partition.sizes("validation")
    assert partition.sizes("test") == (0,) * 20


@pytest.mark.parametrize(
    "labels",
    [
        {"test": np.zeros(3, np.int64)},
        {"train": np.array([0.0, 1.0])},
        {"train": np.array([[0, 1]])},
        {"train": np.array([0, 1, 2])},
        {"train": np.array([-1, 1])},
    ],
)
def test_bad_labels_are_refused(labels):
    with pytest.raises(DataError):
        k_class_partition(labels, 2, 2, 1, 0)


def test_names_are_padded():
    assert k_class_partition(make_labels(2, 50), 2, 4, 1, 0).client_names[0] == "client-00"
    names = k_class_partition(make_labels(2, 80), 2, 102, 1, 0).client_names
    assert names[0] == "client-000"
    assert names[-1] == "client-101"


def test_json_round_trip():
    partition = k_class_partition(make_labels(10, 50), 10, 20, 2, 0)
    again = Partition.from_json(partition.to_json())
    assert again == partition
    assert again.hash == partition.hash
    assert again.fractions == partition.fractions
    assert again.client_names == partition.client_names
    assert again.indices["train"][3].dtype == np.int64


def test_json_that_was_changed_is_refused():
    content = json.loads(k_class_partition(make_labels(4, 9), 4, 4, 2, 0).to_json())
    content["indices"]["train"][0][0] += 1
    with pytest.raises(ArtefactError, match="changed"):
        Partition.from_json(json.dumps(content))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": 9}', '{"format": 1, "hash": "x", "client_names": 3}'])
def test_json_that_is_no_partition_is_refused(text):
    with pytest.raises(ArtefactError):
        Partition.from_json(text)


def test_indices_cannot_be_changed():
    partition = k_class_partition(make_labels(4, 9), 4, 4, 2, 0)
    with pytest.raises(ValueError, match="read-only"):
        partition.indices["train"][0][0] = 1


@given(st.lists(st.floats(LOW, HIGH), min_size=1, max_size=40), st.integers(0, 5000))
def test_counts_are_complete_and_near_their_quota(alphas, n):
    shares = fractions(alphas)
    counts = largest_remainder_counts(shares, n)
    assert sum(counts) == n
    assert all(abs(c - s * n) < 1 + 1e-6 for c, s in zip(counts, shares, strict=True))
    if n >= len(alphas):
        assert min(counts) >= 1


def test_counts_survive_float_rounding():
    assert 0.29 * 100 < 29  # why floors of float products are not enough
    assert largest_remainder_counts([0.29, 0.71], 100) == (29, 71)
    assert largest_remainder_counts([0.1, 0.2, 0.7], 1000) == (100, 200, 700)
    assert largest_remainder_counts([0.1 + 0.2, 0.3, 0.4], 5) == (2, 1, 2)  # equal remainders: lowest index
    assert largest_remainder_counts([Fraction(1, 3)] * 3, 4) == (2, 1, 1)


@pytest.mark.parametrize("bad", [[], [0.5, 0.0], [0.5, -1.0], [float("nan")], [float("inf")], ["x"]])
def test_bad_fractions_are_refused(bad):
    with pytest.raises(DataError):
        fractions(bad)
    with pytest.raises(DataError):
        largest_remainder_counts(bad, 3)


def test_negative_number_of_items_is_refused():
    with pytest.raises(DataError):
        largest_remainder_counts([1.0], -1)


def test_a_class_of_test_data_alone_is_named_as_such() -> None:
    labels = {"train": np.repeat([0, 1, 2], 20), "test": np.repeat([0, 1, 2, 3], 5)}
    with pytest.raises(DataError, match=r"Class 3 has no training sample, so no client could learn it"):
        k_class_partition(labels, 4, 4, 2, 0)
