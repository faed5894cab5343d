"""Simulations from a notebook: the settings and the numbers of the command, and their results as objects."""

import json
from pathlib import Path

import pytest

from pfedgp.api import Run, simulate
from pfedgp.cli import main
from pfedgp_core.errors import ArtefactError, ConfigError
from tests.pfedgp.recorded_runs import Runs


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Runs:
    recorded = Runs()
    monkeypatch.setattr("pfedgp.local.simulation.run_simulation", recorded.run_simulation)
    return recorded


@pytest.mark.slow
def test_a_run_has_the_numbers_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = simulate(tmp_path / "a", quiet=True, workers=1, clients=5, rounds=1, local_epochs=2)
    assert capsys.readouterr() == ("", "")
    options = ["--clients", "5", "--rounds", "1", "--local-epochs", "2", "--workers", "1"]
    assert main(["simulate", *options, "--out", str(tmp_path / "b")]) == 0
    other = Run(tmp_path / "b")
    assert (run.path / "clients.csv").read_bytes() == (other.path / "clients.csv").read_bytes()
    assert run.summary == json.loads((tmp_path / "a" / "summary.json").read_text())
    assert run.settings["local-epochs"] == 2
    assert [client["name"] for client in run.clients] == [f"client-{i:02}" for i in range(5)]
    assert {type(run.clients[0][key]) for key in ("n_train", "accuracy")} == {int, float}
    assert run.rounds[0]["round"] == 1
    assert (run.model / "model.safetensors").exists()
    assert repr(run).startswith(f"Run('{tmp_path / 'a'}', completed, accuracy")
    assert "<td>accuracy</td>" in run._repr_html_()


def test_settings_by_key(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pfedgp.api.simulation.Run", Path)
    simulate(tmp_path / "a", workers=2, learning_rate=0.1, preset="paper", rounds=3, **{"gp.kernel": "matern52"})
    (settings, folder, workers) = runs[0]
    assert (settings.learning_rate, settings.gp.kernel, settings.rounds) == (0.1, "matern52", 3)
    assert settings.inducing_per_class == 100
    assert settings.feature_dim == 84  # of the preset
    assert (folder, workers) == (tmp_path / "a", 2)


def test_mistakes_are_errors_with_a_sentence(runs: Runs, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'learning-rate'"):
        simulate(tmp_path / "a", learning_rat=0.1)
    with pytest.raises(ConfigError, match="workers = 0"):
        simulate(tmp_path / "a", workers=0)
    with pytest.raises(ArtefactError, match="There is no run"):
        Run(tmp_path / "a")
    assert runs == []
