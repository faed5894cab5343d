"""What sites were told that cannot take part, kept in the run's folder."""

import logging
import stat
from pathlib import Path

import pytest

from pfedgp_core.errors import ArtefactError
from server.run import refusals
from server.run.refusals import REFUSALS_FILE, RefusalsFile, read_refusals


def test_lines_are_read_as_they_were_noted(tmp_path: Path) -> None:
    file = RefusalsFile(tmp_path)
    file.note(2**63, "refused: ward-1 has 3 columns\nand more", True)
    file.note(7, "its reply was refused", False)
    told, damaged = read_refusals(tmp_path)
    assert [(one.node, one.words, one.lasting) for one in told] == [
        (str(2**63), "refused: ward-1 has 3 columns and more", True),
        ("7", "its reply was refused", False),
    ]
    assert damaged == 0
    assert stat.S_IMODE((tmp_path / REFUSALS_FILE).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "line",
    [
        "",
        "{",
        "[]",
        '{"time": 3, "node": "1", "words": "x", "lasting": true}',
        '{"time": "never", "node": "1", "words": "x", "lasting": true}',
        '{"time": "2026-01-01T00:00:00+00:00", "node": "1", "words": "x", "lasting": "no"}',
    ],
)
def test_other_lines_are_counted_and_left_out(line: str, tmp_path: Path) -> None:
    RefusalsFile(tmp_path).note(1, "x", True)
    with (tmp_path / REFUSALS_FILE).open("a") as file:
        file.write(line + "\n")
    told, damaged = read_refusals(tmp_path)
    assert (len(told), damaged) == (1, 1)


def test_a_site_that_is_refused_again_and_again_fills_no_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refusals, "MOST", 5)
    file = RefusalsFile(tmp_path)
    for number in range(20):
        file.note(1, f"refused for the reason {number}", True)
    assert len(read_refusals(tmp_path)[0]) == 5


def test_a_disk_that_is_full_ends_no_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(*_: object) -> None:
        raise ArtefactError("no room")

    monkeypatch.setattr(refusals, "append_line", full)
    file = RefusalsFile(tmp_path)
    with caplog.at_level(logging.WARNING, "pfedgp.server"):
        file.note(1, "x", True)
        file.note(1, "y", True)
    assert caplog.messages == ["refusals are in this log alone from here on: no room"]
