"""The running average of a run's states: its formula, what of it is tested and kept, and a resume to the same bits."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pfedgp_core.wire.names import TRAIN
from server.running_average import running_average
from tests.federation_run import federate, initial_model, resume
from tests.killed import at_message, killed
from tests.uninterrupted import MODES, SETTINGS, same, without_pictures

pytestmark = pytest.mark.slow

AVERAGED = SETTINGS.replace(average_states=0.9, evaluate_every=1)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


def test_former_states_weigh_what_is_asked_and_less_in_the_first_rounds() -> None:
    former, state = np.zeros(2, np.float32), np.array([1.0, -3.0], np.float32)
    assert_allclose(running_average(former, state, 1, 0.95), state * (1 - 1 / 11), rtol=1e-6)
    assert_allclose(running_average(former, state, 1000, 0.95), state * 0.05, rtol=1e-6)
    assert running_average(former, state, 1000, 0.95).dtype == np.float32


def test_the_states_are_those_of_a_run_without_it_and_the_kept_model_is_their_average(tmp_path: Path) -> None:
    short = [federate(SETTINGS.replace(rounds=t), tmp_path / str(t)).model("final") for t in (1, 2, 3)]
    with_it = federate(AVERAGED.replace(rounds=3), tmp_path / "averaged")
    expected = initial_model(SETTINGS)
    for t, state in enumerate(short, start=1):
        expected = running_average(expected, state, t, 0.9)
    assert with_it.model("final").tobytes() == expected.tobytes()


def test_the_average_is_what_is_evaluated(tmp_path: Path) -> None:
    plain = federate(AVERAGED.replace(average_states=0.0), tmp_path / "plain")
    averaged = federate(AVERAGED, tmp_path / "averaged")
    assert [r["train_loss"] for r in averaged.records] == [r["train_loss"] for r in plain.records]
    assert [r["validation_ece"] for r in averaged.records] != [r["validation_ece"] for r in plain.records]


def test_a_deployment_gives_the_numbers_of_a_simulation(tmp_path: Path) -> None:
    simulated, deployed = (federate(AVERAGED, tmp_path / str(on), deployed=on) for on in (False, True))
    assert deployed.lasting == simulated.lasting
    assert deployed.model("best").tobytes() == simulated.model("best").tobytes()


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_killed_run_goes_on_to_the_same_bits(deployed: bool, tmp_path: Path) -> None:
    whole = federate(AVERAGED, tmp_path / "whole", deployed=deployed)
    killed(lambda: federate(AVERAGED, tmp_path / "run", at_message(TRAIN, 3), deployed))
    assert same(resume(tmp_path / "run", deployed=deployed), whole)
