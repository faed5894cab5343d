"""scripts/attack_table.py: what its attackers send is an attack, the bound holds it, and the tables show it."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.simulated import simulated_client, simulated_partition
from pfedgp_core.methods.make import make_method
from pfedgp_core.numerics.streams import Stream
from scripts import attack_table
from scripts.attacks import trials
from scripts.attacks.federation import ALL, FIRST, Outcome, attacked
from scripts.attacks.kinds import ATTACKS, Moment
from scripts.attacks.plan import FIVE, PARTS, TEN, Part
from scripts.attacks.trials import Results, Trial

TWO = FIVE.replace(rounds=2)
OPEN = TWO.replace(clip_updates=0.0, max_update_norm=1e12)
NAME = "client-00"
FIRST_IN_ROUND_2 = {name for name, attack in ATTACKS.items() if attack.first == 2}


@pytest.mark.slow
def test_the_replacement_kills_the_features_where_there_is_no_bound() -> None:
    assert attacked(OPEN, "replacement", (0,)).score < 0.5


@pytest.mark.slow
def test_the_defaults_refuse_the_replacement() -> None:
    outcome = attacked(TWO, "replacement", (0,))
    assert (outcome.refused, outcome.clipped) == ({NAME: 1}, {})
    assert outcome.score > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in ATTACKS if name not in {"replacement", *FIRST_IN_ROUND_2}])
def test_every_other_attack_is_shortened(name: str) -> None:
    assert attacked(TWO, name, (0,), ALL).clipped[NAME] == 2


@pytest.mark.slow
def test_a_model_of_round_1_is_stale_in_round_2() -> None:
    assert attacked(TWO, "stale", (0,)).refused == {}
    assert ATTACKS["stale"].first == 2


@pytest.mark.parametrize("method", ["pfedgp", "fedavg", "fedper"])
def test_the_replacement_makes_the_first_layer_dead_and_nothing_else(method: str) -> None:
    settings = FIVE.replace(method=method, clients_per_round=1)  # so that the mean is what is sent
    data = simulated_client(FIVE, 0)
    made = make_method(settings, (1, 8, 8), 10)
    start = made.initial()
    dead = ATTACKS["replacement"].vector(Moment(settings, made, start, start, data, Stream(0, "any")))
    changed = np.flatnonzero(dead != start)
    assert dead[changed].min() == pytest.approx(-0.1)
    assert dead[changed].max() == 0.0
    assert (changed[0], changed[-1] + 1) == (0, len(changed))


def test_who_goes_against_the_others_takes_their_mean_backwards() -> None:
    received, others = np.zeros(3, np.float32), np.array([0.0, 3.0, 4.0], np.float32)
    data = simulated_client(FIVE, 0)
    moment = Moment(FIVE, make_method(FIVE, (1, 8, 8), 10), received, received, data, Stream(0, "any"))
    sent = ATTACKS["against"].vector(
        Moment(**{**vars(moment), "others": others, "usual": 1.0, "settings": FIVE.replace(max_update_norm=4.0)})
    )
    np.testing.assert_allclose(sent, [0.0, -1.2, -1.6], rtol=1e-6)


@pytest.mark.slow
def test_nobody_attacks_without_an_attack() -> None:
    outcome = attacked(TWO, "", (0,))
    assert (outcome.clipped, outcome.updates) == ({}, 10)


@pytest.mark.slow
def test_personal_layers_are_kept_from_round_to_round() -> None:
    settings = FIVE.replace(method="fedper", rounds=3)
    alike = settings.replace(method="fedavg")
    assert attacked(settings).score > attacked(alike).score


def test_one_that_is_drawn_alone_attacks_once() -> None:
    sites = FIVE.replace(clients_per_round=1, rounds=8)
    once, always = (attacked(sites, "noise", (0, 1, 2, 3), rounds) for rounds in (FIRST, ALL))
    assert once.clipped.total() + once.refused.total() < always.clipped.total() + always.refused.total()


def test_one_of_five_attacks_and_two_of_ten_and_one_of_two() -> None:
    assert [Trial(s).attackers for s in (FIVE, TEN, FIVE.replace(clients=2, clients_per_round=2))] == [
        (0,),
        (0, 1),
        (0,),
    ]


def test_a_cell_tells_the_mean_difference_and_the_worst() -> None:
    part = Part({"default": FIVE}, rounds=(ALL,), seeds=(0, 1))
    found = {Trial(FIVE.replace(seed=seed)): Outcome(0.9, updates=10) for seed in (0, 1)}
    found |= {Trial(FIVE.replace(seed=seed), "noise", ALL): Outcome(0.89 - 0.02 * seed) for seed in (0, 1)}
    found[Trial(FIVE.replace(seed=1))].clipped = Counter({NAME: 3})
    rows = attack_table.table(part, found).splitlines()
    assert rows[2] == "| none |  | 90.0 |"
    assert "| noise | all | -2.0 (-3.0) |" in rows
    assert rows[-1] == "| of a site without an attack, clipped | | 3 of 20 |"


def test_an_error_that_grows_is_a_loss() -> None:
    settings = PARTS["regression"].columns["five sites"]
    part = Part({"here": settings}, rounds=(ALL,), seeds=(0,))
    found = {Trial(settings): Outcome(0.7), Trial(settings, "noise", ALL): Outcome(0.75)}
    assert "| noise | all | -5.0 |" in attack_table.table(part, found).splitlines()


def test_a_run_that_is_done_is_not_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trial, outcome = Trial(FIVE), Outcome(0.5, 0.25, 30, 2.5, Counter({NAME: 3}), Counter({NAME: 1}))
    monkeypatch.setattr(trials, "attacked", lambda *_: outcome)
    assert dict(Results(tmp_path / "results").of([trial], 1)) == {trial: outcome}
    monkeypatch.delattr(trials, "attacked")
    assert dict(Results(tmp_path / "results").of([trial], 1)) == {trial: outcome}


@pytest.mark.parametrize("name", PARTS)
def test_the_data_of_every_column_can_be_split(name: str) -> None:
    part = PARTS[name]
    for column, settings in part.columns.items():
        for seed in part.seeds_of(column):
            partition = simulated_partition(settings.replace(seed=seed))
            assert len(partition.client_names) == settings.clients


def test_the_page_has_a_place_for_every_part() -> None:
    page = attack_table.PAGE.read_text(encoding="utf-8")
    assert [name for name in PARTS if f"<!-- {name} -->" not in page] == []
