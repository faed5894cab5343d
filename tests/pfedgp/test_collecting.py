"""Settings from all that a user gives: which preset is taken where none is named, and which line says so."""

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp.collecting import collect, collect_settings, preset_of_all
from pfedgp_core.config import Settings
from server.run.settings import dump_settings, read_settings_file

HEAD = "Prior mean: a softmax head that the clients share, as the run has 300 visits of clients (60 rounds x 5)"


def test_a_run_of_defaults_has_a_shared_head_and_says_so() -> None:
    settings, notes = collect({}, {}, [])
    assert (settings.gp.prior_mean, settings.objective, settings.gp.output_scale) == ("head", "softmax", 4.0)
    assert notes == (f"{HEAD}; without one, which is the default of pfedgp run: --preset zero-mean.",)


@pytest.mark.parametrize("preset", ["zero-mean", "shared-head", "paper"])
def test_a_preset_that_is_named_is_taken_without_a_word(preset: str) -> None:
    settings, notes = collect({"preset": preset}, {}, [])
    assert settings == collect_settings({"preset": "auto"}, {"preset": preset}, [])
    assert settings.gp.prior_mean == ("head" if preset == "shared-head" else "zero")
    assert notes == ()


def test_the_settings_of_a_run_give_that_run_again(tmp_path) -> None:
    for index, settings in enumerate((Settings(), collect_settings({}, {}, []))):
        file = tmp_path / f"{index}.toml"
        file.write_text(dump_settings(settings))
        assert collect(read_settings_file(file), {}, []) == (settings, ())


def test_sites_of_a_data_set_are_the_clients_that_count(tmp_path) -> None:
    rows = np.repeat(np.arange(4), 30)
    table = "\n".join(["a,label,ward", *(f"{i},{'xy'[i % 2]},w{ward}" for i, ward in enumerate(rows))])
    (tmp_path / "wards.csv").write_text(table)
    settings, notes = collect({"dataset": str(tmp_path / "wards.csv"), "partition-by": "ward"}, {}, [])
    assert (settings.clients, settings.gp.prior_mean) == (4, "zero")
    assert "240 visits of clients (60 rounds x 4)" in notes[-1]


@pytest.mark.parametrize(
    ("candidates", "preset"),
    [
        ([["learning-rate=0.1"], ["learning-rate=0.2"]], "auto"),
        ([["gp.sweeps=3"], ["gp.sweeps=5"]], "zero-mean"),
        ([["rounds=20"], ["rounds=60"]], "zero-mean"),
        ([["method=pfedgp"], ["method=fedavg"]], "auto"),
    ],
)
def test_runs_that_are_compared_have_one_preset(candidates: list[list[str]], preset: str) -> None:
    found, note = preset_of_all({}, {}, [], candidates)
    assert found == preset
    assert note.startswith("Prior mean: zero" if preset == "zero-mean" else HEAD)
    assert preset_of_all({}, {"preset": "shared-head"}, [], candidates) == ("shared-head", "")


def test_long_runs_that_are_compared_say_that_their_states_are_averaged() -> None:
    candidates = [["rounds=200", "learning-rate=0.1"], ["rounds=200", "learning-rate=0.2"]]
    note = preset_of_all({}, {}, [], candidates)[1]
    assert "a softmax head that the clients share" in note
    assert "The model is an average of the states, with 0.9 on the former ones" in note


def test_a_model_before_round_1_has_no_head(tmp_path) -> None:
    shape = ["--set", "input-shape=3", "--set", "class-names=a,b", "--mean", "0,0,0", "--std", "1,1,1"]
    for preset, head in ((), False), (("--preset", "shared-head"), True):
        assert main(["initial", *preset, *shape, "--network", "mlp", "--out", str(tmp_path / f"{head}")]) == 0
        about = (tmp_path / f"{head}" / "meta.json").read_text()
        assert ('"gp.prior-mean": "head"' in about) is head


def test_a_run_of_a_servers_sites_has_no_head_that_nobody_asked_for() -> None:
    settings, notes = collect({}, {}, [], deployed=True)
    assert settings == Settings()
    assert any("one site could spoil" in note for note in notes)
    assert collect({}, {"preset": "shared-head"}, [], deployed=True).settings.gp.prior_mean == "head"
