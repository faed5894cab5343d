"""Random kills over a deployment, few of them: ``make chaos`` does thirty."""

import random

import pytest

from scripts import chaos
from tests.deploy.deployment import WARDS, deployed


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_first_kills_have_every_kind_of_victim(seed: int) -> None:
    victims = chaos.drawn(random.Random(seed))
    assert sorted(next(victims) for _ in chaos.VICTIMS) == sorted(chaos.VICTIMS)


@pytest.mark.slow
def test_three_random_kills_change_no_bit(tmp_path_factory: pytest.TempPathFactory) -> None:
    with deployed(tmp_path_factory.mktemp("chaos"), WARDS) as deployment:
        done = chaos.chaos(deployment, kills=3, seed=5)
    assert done.kills.total() == 3
    assert done.runs >= 1
