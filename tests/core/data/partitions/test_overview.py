"""Counts of a partition for people and programs."""

import json

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import load_dataset
from pfedgp_core.data.partitions.overview import class_counts, overview
from pfedgp_core.data.simulated import simulated_partition

DIGITS = load_dataset("digits")


def test_counts_add_up_to_the_classes() -> None:
    labels = DIGITS.labels["train"]
    counts = class_counts(simulated_partition(Settings()), labels, 10)
    assert np.array_equal(counts.sum(axis=0), np.bincount(labels))


@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_every_client_has_its_samples(split: str) -> None:
    partition = simulated_partition(Settings())
    shown = overview(partition, DIGITS.labels, DIGITS.class_names)
    assert tuple(client[split]["samples"] for client in shown["clients"]) == partition.sizes(split)


def test_only_classes_that_are_held_are_named() -> None:
    shown = overview(simulated_partition(Settings()), DIGITS.labels, DIGITS.class_names)
    assert {len(client["train"]["classes"]) for client in shown["clients"]} == {2}


def test_noise_is_named() -> None:
    shown = overview(simulated_partition(Settings(noise="imagenet-c")), DIGITS.labels, DIGITS.class_names)
    assert all(client["noise"][-1] in "345" for client in shown["clients"])


def test_it_is_json() -> None:
    shown = overview(simulated_partition(Settings()), DIGITS.labels, DIGITS.class_names)
    assert json.loads(json.dumps(shown)) == shown


def test_without_classes_there_are_numbers_of_samples() -> None:
    settings = Settings(dataset="diabetes", task="regression", clients=6)
    shown = overview(simulated_partition(settings), load_dataset("diabetes").labels, ())
    assert shown["samples"] == {"train": 265, "validation": 89, "test": 88}
