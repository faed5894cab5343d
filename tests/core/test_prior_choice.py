"""When a run whose user does not say shares a head: the rule, its reason, and that what the user says comes first."""

from typing import Any

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.presets import preset_settings
from pfedgp_core.prior_choice import prior_choice
from pfedgp_core.registry import METHODS, VARIANTS

MANY = {"clients": 50}
WITHOUT = "without one, which is the default of pfedgp run: --preset zero-mean"
HEAD, WITH = "Prior mean: a softmax head that the clients share", "with a shared head: --preset shared-head"


@pytest.mark.parametrize(
    ("given", "head"),
    [
        ({}, True),
        ({"rounds": 60}, True),
        ({"rounds": 59}, False),
        ({"rounds": 6, "clients-per-round": 50} | MANY, True),
        ({"rounds": 6, "clients-per-round": 50}, False),
        ({"rounds": 99, "clients": 3}, False),
        ({"rounds": 100, "clients": 3}, True),
        ({"clients": 7, "unseen-clients": 2}, True),
        ({"clients": 7, "unseen-clients": 2, "novel-clients": 1}, False),
    ],
)
def test_visits_count_clients_that_train(given: dict[str, Any], head: bool) -> None:
    assert prior_choice(given).head is head


@pytest.mark.parametrize(
    "given",
    [
        *({key: value} for key, value in Settings().to_run_config().items() if key.startswith("gp.")),
        {"gp.output-scale": 4.0},
        {"gp.learn-scales": True},
        {"gp.choose-scale": True},
        {"objective": "predictive"},
        {"loss-scale": 2.0},
        {"momentum": 0.0},
        {"local-epochs": 3},
        {"network": "frozen:xray"},
        {"class-weights": "balanced"},
        {"dp-noise": 1.0},
        {"task": "regression", "dataset": "diabetes"},
        *({"variant": name} for name, entry in VARIANTS.items() if entry.needs_inducing),
        *({"method": name} for name in METHODS if name != "pfedgp"),
    ],
    ids=str,
)
def test_a_setting_of_gaussian_training_keeps_the_prior_mean_zero(given: dict[str, Any]) -> None:
    if given.keys() <= {"gp.predict-chains", "gp.predict-sweeps"}:
        assert prior_choice(given).head
        return
    assert not prior_choice(given).head
    settings = Settings.from_run_config({**preset_settings("auto", given), **given})
    assert settings == Settings.from_run_config(given)


@pytest.mark.parametrize(
    "given",
    [
        {"learning-rate": 0.1},
        {"batch-size": 10, "local-steps": 5},
        {"local-epochs": 3, "local-steps": 0},
        {"gp.predict-chains": 100},
        {"dp-noise": 0.0, "class-weights": "none", "variant": "full", "method": "pfedgp"},
        {"aggregation": "median", "network": "mlp", "seed": 3},
    ],
    ids=str,
)
def test_other_settings_go_with_a_head(given: dict[str, Any]) -> None:
    assert prior_choice(given).head


def test_a_head_that_the_user_asks_for_is_as_the_user_has_it() -> None:
    given = {"gp.prior-mean": "head"}
    assert prior_choice(given) == (False, "")
    settings = Settings.from_run_config({**preset_settings("auto", given), **given})
    assert settings == Settings.from_run_config(given)


@pytest.mark.parametrize(
    ("given", "note"),
    [
        (
            {},
            f"{HEAD}, as the run has 300 visits of clients (60 rounds x 5); {WITHOUT}.",
        ),
        (
            {"rounds": 20},
            f"Prior mean: zero, as the run has 100 visits of clients (20 rounds x 5), fewer than 300; {WITH}.",
        ),
        (
            {"gp.sweeps": 10},
            f"Prior mean: zero, as gp.sweeps = 10 is given; {WITH}.",
        ),
        ({"dp-noise": 1.0}, "Prior mean: zero, as a shared head does not go with dp-noise."),
        ({"variant": "ip-data"}, "Prior mean: zero, as a shared head does not go with variant = 'ip-data'."),
        ({"method": "fedavg"}, ""),
        ({"task": "regression"}, ""),
    ],
    ids=str,
)
def test_a_line_says_what_was_taken_and_how_to_get_the_other(given: dict[str, Any], note: str) -> None:
    assert prior_choice(given).note == note


@pytest.mark.parametrize("given", [{"rounds": "many"}, {"variant": "fulll"}, {"variant": ["full"]}, {"task": 3}])
def test_a_mistake_is_left_for_the_check_of_settings(given: dict[str, Any]) -> None:
    assert prior_choice(given) == (False, "")


def test_sites_of_a_server_share_no_head_that_nobody_asked_for() -> None:
    head, note = prior_choice({}, deployed=True)
    assert not head
    assert "one site could spoil a shared head for all" in note
    assert not prior_choice({"aggregation": "nearest", "trim-share": 0.2}, deployed=True).head


@pytest.mark.parametrize("given", [{}, {"rounds": 10}, {"momentum": 0.0}, {"network": "frozen:xray"}], ids=str)
def test_sites_of_a_server_are_told_of_a_head_that_one_of_them_cannot_spoil(given: dict[str, Any]) -> None:
    assert prior_choice(given, deployed=True).note.endswith(f"{WITH} --set aggregation=nearest --set trim-share=0.2.")
