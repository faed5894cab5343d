"""Two groups: their parts of the data, and a training group that does not depend on the novel one's alpha."""

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.data.partitions.base import Partition
from pfedgp_core.data.partitions.dirichlet import dirichlet
from pfedgp_core.data.simulated import simulated_client
from pfedgp_core.errors import ConfigError

CLASSES = 5
SETTINGS = Settings(
    partition="dirichlet", clients=20, novel_clients=4, novel_alpha=1.0, dirichlet_alpha=0.5, dirichlet_floor=2
)
RNG = np.random.default_rng(0)
LABELS = {split: RNG.permutation(np.repeat(np.arange(CLASSES), n)) for split, n in (("train", 200), ("test", 100))}


def made(**changes: object) -> Partition:
    return dirichlet(LABELS, CLASSES, SETTINGS.replace(**changes))


@pytest.mark.parametrize("split", LABELS)
def test_a_group_s_part_of_a_class_is_its_part_of_the_clients(split: str) -> None:
    novel = np.concatenate(made().indices[split][16:])
    assert np.bincount(LABELS[split][novel]).tolist() == [len(LABELS[split]) // CLASSES // 5] * CLASSES


@pytest.mark.parametrize("split", LABELS)
def test_every_sample_has_one_holder(split: str) -> None:
    assert np.array_equal(np.sort(np.concatenate(made().indices[split])), np.arange(len(LABELS[split])))


def test_the_training_group_does_not_depend_on_the_novel_alpha() -> None:
    one, other = made(novel_alpha=0.1), made(novel_alpha=1.0)
    assert all(
        np.array_equal(a, b) for a, b in zip(one.indices["train"][:16], other.indices["train"][:16], strict=True)
    )
    assert one != other


def test_fractions_of_a_class_sum_to_one() -> None:
    total = np.zeros(CLASSES)
    for own, shares in zip(made().classes, made().fractions, strict=True):
        total[list(own)] += shares
    np.testing.assert_allclose(total, 1)


def test_a_larger_alpha_makes_novel_clients_of_more_classes() -> None:
    few, many = (sum(map(len, made(novel_alpha=alpha).classes[16:])) for alpha in (0.05, 100.0))
    assert few < many == 4 * CLASSES


def test_without_an_alpha_of_their_own_novel_clients_are_as_all() -> None:
    assert made(novel_alpha=0.0) == made(novel_clients=0)


def test_unseen_clients_belong_to_the_novel_group() -> None:
    assert made(novel_clients=0, unseen_clients=4) == made()


def test_clients_that_do_not_train_have_no_part_in_the_normalisation() -> None:
    some = Settings(novel_clients=6)
    assert simulated_client(some, 3).mean == simulated_client(Settings(unseen_clients=6), 3).mean
    assert simulated_client(some, 3).mean != simulated_client(Settings(), 3).mean


def test_somebody_has_to_train() -> None:
    with pytest.raises(ConfigError, match=r"clients-per-round = 5 .*\(clients - unseen-clients - novel-clients = 2\)"):
        Settings(clients=20, novel_clients=18)


def test_the_figure_of_the_paper() -> None:
    labels = {"train": np.arange(40_000) % 10}
    paper = Settings(clients=100, novel_clients=10, dirichlet_alpha=0.1, novel_alpha=0.1)
    sizes = dirichlet(labels, 10, paper).sizes()
    assert (sum(sizes[:90]), sum(sizes[90:])) == (36_000, 4_000)
    assert min(sizes) >= 10
