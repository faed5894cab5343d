"""``pfedgp settings`` lists every setting."""

from pathlib import Path

import pytest

from pfedgp.cli import main
from pfedgp_core.config import Settings
from pfedgp_core.config_text import describe
from server.run.settings import read_settings_file


def test_settings_lists_every_key(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["settings"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == [key for key, _, _ in describe()]
    assert main(["settings", "--toml"]) == 0
    file = tmp_path / "s.toml"
    file.write_text(capsys.readouterr().out)
    assert Settings.from_run_config(read_settings_file(file)) == Settings()
