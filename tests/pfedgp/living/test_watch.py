"""``pfedgp watch`` from the command line: its state between calls, and an alarm."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp.cli import main
from tests.core.site.test_forgetting import named_site
from tests.core.site.test_saved import data


@pytest.fixture
def ward(tmp_path: Path) -> Path:
    named_site(range(60)).save(tmp_path / "ward")
    np.savez(tmp_path / "same.npz", x=data(30, seed=3).inputs)
    np.savez(tmp_path / "other.npz", x=-3 * data(60, seed=4).inputs)
    return tmp_path / "ward"


def watch(ward: Path, name: str, capsys: pytest.CaptureFixture[str], *options: str, code: int = 0) -> dict[str, Any]:
    assert main(["watch", "--site", str(ward), "--data", str(ward.parent / name), "--json", *options]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_state_is_kept_between_calls_and_an_alarm_stays(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert watch(ward, "same.npz", capsys)["begins"]
    found = watch(ward, "other.npz", capsys, code=3)
    assert (found["samples_in_all"], found["begins"], found["alarm"]) == (90, False, True)
    assert int(found["first_alarm"]) <= 50
    assert watch(ward, "same.npz", capsys, code=3)["first_alarm"] is None
    assert not watch(ward, "same.npz", capsys, "--restart")["alarm"]
    assert (ward.parent / "ward.watch.json").stat().st_mode & 0o077 == 0


def test_a_changed_site_begins_anew(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch(ward, "same.npz", capsys)
    assert main(["forget", "--site", str(ward), "--id", "a4"]) == 0
    capsys.readouterr()
    assert watch(ward, "same.npz", capsys)["samples_in_all"] == 30


def test_a_changed_state_is_refused(ward: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch(ward, "same.npz", capsys)
    file = ward.parent / "ward.watch.json"
    file.write_text(file.read_text().replace('"highest": ', '"highest": 1'))
    assert main(["watch", "--site", str(ward), "--data", str(ward.parent / "same.npz")]) == 1
    assert "delete it to begin again" in capsys.readouterr().err
