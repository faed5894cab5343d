"""``pfedgp settings`` lists every setting."""

from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp.collecting import collect_settings
from pfedgp_core.config import Settings
from pfedgp_core.config_text import describe
from server.run.settings import read_settings_file


def test_settings_lists_every_key(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["settings"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == [key for key, _, _ in describe()]
    assert lines[-1].startswith("Prior mean: a softmax head that the clients share")
    assert main(["settings", "--toml"]) == 0
    file = tmp_path / "s.toml"
    file.write_text(capsys.readouterr().out)
    assert Settings.from_run_config(read_settings_file(file)) == collect_settings({}, {}, [])


def test_a_preset_is_shown_beside_the_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "--preset", "paper", "--set", "variant=ip-data", "--set", "dataset=cifar10"]) == 0
    lines = {line.split()[0]: line.split() for line in capsys.readouterr().out.splitlines()}
    assert lines["setting"][1:3] == ["value", "default"]
    assert lines["loss-scale"][1:3] == ["2.0", "1.0"]
    assert lines["rounds"][1:3] == ["1000", str(Settings().rounds)]
    assert "round-timeout" not in lines  # the paper says nothing of it


def test_a_preset_as_toml_is_a_whole_settings_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["settings", "--preset", "paper", "--toml"]) == 0
    file = tmp_path / "s.toml"
    file.write_text(capsys.readouterr().out)
    settings = Settings.from_run_config(read_settings_file(file))
    assert (settings.rounds, settings.clip_updates) == (1000, 0.0)


def test_what_is_given_comes_before_a_preset() -> None:
    flat, named = {"momentum": 0.5}, {"preset": "paper", "rounds": "7"}
    settings = collect_settings(flat, named, ["learning-rate=0.2"])
    assert (settings.momentum, settings.rounds, settings.learning_rate) == (0.5, 7, 0.2)
    assert settings.clip_updates == 0


def test_a_settings_file_may_name_a_preset() -> None:
    assert collect_settings({"preset": "paper"}, {}, []) == collect_settings({}, {"preset": "paper"}, [])


def test_an_unknown_preset_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["settings", "--preset", "papr"]) == 2
    assert "did you mean 'paper'?" in capsys.readouterr().err
