"""scripts/attack_table.py: what its attackers send is an attack, the bound holds it, and the table counts it."""

from collections import Counter

import pytest

from scripts import attack_table
from scripts.attack_table import FIVE, Trial
from scripts.attacks.federation import ALL, Outcome, attacked
from scripts.attacks.kinds import ATTACKS

TWO = FIVE.replace(rounds=2)
OPEN = TWO.replace(clip_updates=0.0, max_update_norm=1e12)
NAME = "client-00"


def test_the_replacement_kills_the_features_where_there_is_no_bound() -> None:
    assert attacked(OPEN, "replacement", (0,)).accuracy < 0.5


def test_the_defaults_refuse_the_replacement() -> None:
    outcome = attacked(TWO, "replacement", (0,))
    assert (outcome.refused, outcome.clipped) == ({NAME: 1}, {})
    assert outcome.accuracy > 0.9


@pytest.mark.parametrize("name", [name for name in ATTACKS if name not in ("replacement", "stale")])
def test_every_other_attack_is_shortened(name: str) -> None:
    assert attacked(TWO, name, (0,), ALL).clipped[NAME] == 2


def test_a_model_of_round_1_is_stale_in_round_2() -> None:
    assert attacked(TWO, "stale", (0,)).refused == {}
    assert ATTACKS["stale"].first == 2


def test_nobody_attacks_without_an_attack() -> None:
    assert attacked(TWO, "", (0,)).clipped == {}


def test_one_of_five_attacks_and_two_of_ten() -> None:
    assert [Trial(settings).attackers for settings in (FIVE, attack_table.TEN)] == [(0,), (0, 1)]


def test_a_row_tells_the_difference_and_whose_updates_were_shortened() -> None:
    found = {
        Trial(FIVE): Outcome(0.9, 0.0),
        Trial(FIVE, "noise"): Outcome(0.88, 0.25, Counter({NAME: 3, "client-03": 1}), Counter({NAME: 2})),
    }
    rows = attack_table.table(found).splitlines()[2:]
    assert rows[0] == "| default | none |  | 90.0 |  | 0 | 0 | 0 |"
    assert rows[1] == "| default | noise | first | 88.0 | -2.0 | 3 + 1 | 2 + 0 | 25 |"
