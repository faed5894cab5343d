"""Reading a run back: it may have less, and what is damaged is named."""

import shutil
from pathlib import Path

import pytest

from pfedgp_core.errors import ArtefactError
from server.report.html.run_files import read_run
from server.report.html.writer import write_report
from tests.server.report.html.written_run import Page


@pytest.mark.parametrize(
    ("left", "text"),
    [
        ((), "This run was cut off"),
        (("metrics.jsonl",), "This run was cut off"),
        (("summary.json",), "75.0 %"),
        (("metrics.jsonl", "summary.json", "clients.csv"), "Each site is tested with its own model"),
    ],
)
def test_a_run_may_have_less(run: Path, tmp_path: Path, left: tuple[str, ...], text: str) -> None:
    (tmp_path / "run").mkdir()
    for name in ("config.toml", *left):
        shutil.copy(run / name, tmp_path / "run")
    page = Page(write_report(tmp_path / "run").read_text())
    assert text in " ".join(page.words)


def test_a_torn_last_line_is_left_out(run: Path, tmp_path: Path) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    with (copy / "metrics.jsonl").open("a") as file:
        file.write('{"round": 3, "train_l')
    assert len(read_run(copy).rounds) == 2


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("summary.json", "{"),
        ("summary.json", "[]"),
        ("calibration.json", "{}"),
        ("calibration.json", '{"pooled": 3}'),
        ("metrics.jsonl", "x\n{}\n"),
        ("certificates.json", "{}"),
        ("config.toml", "a = ="),
    ],
)
def test_a_damaged_file_is_named(run: Path, tmp_path: Path, name: str, content: str) -> None:
    copy = shutil.copytree(run, tmp_path / "run")
    (copy / name).write_text(content)
    with pytest.raises(ArtefactError, match=name):
        write_report(copy)
