"""The running average that a long run with a shared head has unless its user says otherwise."""

import pytest

from pfedgp_core.averaging import KEY, LONG, averaging
from pfedgp_core.config import Settings
from pfedgp_core.presets import preset_of


@pytest.mark.parametrize(("rounds", "weight"), [(LONG, 0.9), (1000, 0.98), (1_000_000, 0.9998)])
def test_it_is_over_a_twentieth_of_the_rounds(rounds: int, weight: float) -> None:
    assert averaging({"rounds": rounds}) == {KEY: pytest.approx(weight)}
    assert Settings.from_run_config(averaging({"rounds": rounds})).average_states == pytest.approx(weight)


@pytest.mark.parametrize("given", [{}, {"rounds": LONG - 1}, {"rounds": "many"}])
def test_a_shorter_run_keeps_its_last_state(given: dict[str, object]) -> None:
    assert averaging(given) == {}


@pytest.mark.parametrize("name", ["shared-head", "auto"])
def test_long_runs_with_a_head_are_averaged_and_auto_says_so(name: str) -> None:
    found = preset_of(name, {"rounds": 1000})
    assert found.settings[KEY] == pytest.approx(0.98)
    said = "The model is an average of the states, with 0.98 on the former ones; the last one: --set average-states=0."
    assert found.note.endswith(said) == (name == "auto")
    assert KEY not in preset_of(name, {}).settings
    assert "average" not in preset_of(name, {}).note


def test_what_the_user_says_is_not_spoken_of() -> None:
    assert "average" not in preset_of("auto", {"rounds": 1000, KEY: 0.0}).note


@pytest.mark.parametrize(("name", "deployed"), [("zero-mean", False), ("auto", True), ("paper", False)])
def test_runs_without_a_head_keep_their_last_state(name: str, deployed: bool) -> None:
    assert preset_of(name, {"rounds": 1000}, deployed).settings.get(KEY, 0.0) == 0
