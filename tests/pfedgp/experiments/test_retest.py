"""The model of a run is tested once more: the same settings give the same numbers, fewer inducing inputs others."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp.experiments.retest import retested, with_fewer_inducing
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.json_file import read_object
from pfedgp_core.model.shared import SharedState
from tests.fakegrid import FakeGrid
from tests.federation_run import QUICK, client_app, start

pytestmark = pytest.mark.slow

SETTINGS = Settings(clients=5, clients_per_round=2, rounds=2, evaluate_every=1, feature_dim=8, gp=QUICK)
SHAPE = (1, 8, 8)
IP = SETTINGS.replace(variant="ip-compute", inducing_per_class=6)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return start(FakeGrid(client_app, IP.clients), IP, tmp_path_factory.mktemp("run") / "out").path


def test_the_same_settings_give_the_runs_own_test(run: Path) -> None:
    former, again = read_object(run / "summary.json"), retested(run, IP)
    for key in ("accuracy", "nll", "ece", "own_accuracy", "test_samples", "validation_accuracy"):
        assert again[key] == former[key], key


def test_fewer_inducing_inputs_change_the_probabilities(run: Path) -> None:
    again = retested(run, IP.replace(inducing_per_class=2))
    assert again["nll"] != read_object(run / "summary.json")["nll"]


def test_another_head_takes_the_same_features(run: Path) -> None:
    heads = [retested(run, IP.replace(method=name)) for name in ("class-mean", "softmax-head")]
    former = read_object(run / "summary.json")
    assert len({former["nll"], *(each["nll"] for each in heads)}) == 3
    assert all(each["accuracy"] > 0.5 for each in heads)  # of two classes a client


def test_the_first_inducing_inputs_of_each_class_are_kept() -> None:
    state = SharedState.initial(IP, SHAPE, 3)
    fewer = with_fewer_inducing(state.to_vector(), IP, IP.replace(inducing_per_class=2), SHAPE, 3)
    small = SharedState.initial(IP.replace(inducing_per_class=2), SHAPE, 3)
    small.load_vector(fewer)
    assert state.inducing is not None
    assert small.inducing is not None
    np.testing.assert_array_equal(small.inducing.detach(), state.inducing.detach()[:, :2])
    assert [p.shape for p in small.network.parameters()] == [p.shape for p in state.network.parameters()]
    np.testing.assert_array_equal(fewer[-10:], state.to_vector()[-10:])


def test_more_inducing_inputs_than_trained_are_refused() -> None:
    vector = SharedState.initial(IP, SHAPE, 3).to_vector()
    with pytest.raises(ArtefactError, match="inducing-per-class = 9"):
        with_fewer_inducing(vector, IP, IP.replace(inducing_per_class=9), SHAPE, 3)


def test_a_run_without_a_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=str(tmp_path)):
        retested(tmp_path, IP)
