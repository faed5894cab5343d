"""The folder of a new run: nothing is overwritten, and what is in the way is named."""

import errno
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError
from server.run.artefacts import RunFolder
from server.run.new_folder import check_new_folder


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "a" / "run", Settings(), {"pfedgp": "0.1.0"})


def test_a_used_folder_is_refused_and_left_alone(folder: RunFolder) -> None:
    before = (folder.path / "config.toml").read_bytes()
    for refuse in (check_new_folder, lambda path: RunFolder.create(path, Settings(seed=5), {})):
        with pytest.raises(ArtefactError, match=r"already holds a run: give another one with --out"):
            refuse(folder.path)
    assert (folder.path / "config.toml").read_bytes() == before


def test_of_two_runs_at_once_one_gets_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    RunFolder.create(tmp_path, Settings(), {})
    monkeypatch.setattr("server.run.artefacts.refuse_used", lambda path: None)
    with pytest.raises(ArtefactError, match="already holds a run"):
        RunFolder.create(tmp_path, Settings(), {})


def test_a_folder_with_other_files_is_refused_and_left_alone(tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text("mine")
    for refuse in (check_new_folder, lambda path: RunFolder.create(path, Settings(), {})):
        with pytest.raises(ArtefactError, match="is not empty: give a folder of its own"):
            refuse(tmp_path)
    assert [f.read_text() for f in tmp_path.iterdir()] == ["mine"]


def test_check_leaves_nothing_behind(tmp_path: Path) -> None:
    check_new_folder(tmp_path / "deep" / "er")
    assert list(tmp_path.iterdir()) == []


def test_checks_of_runs_beside_each_other_do_not_disturb_each_other(tmp_path: Path) -> None:
    """As those of an experiment's cells, whose folders lie in one that is not there yet."""

    def check(i: int) -> None:
        for _ in range(100):
            check_new_folder(tmp_path / "out" / "runs" / f"cell-{i}")

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(check, range(6)))
    left = {path.name for path in tmp_path.rglob("*")}
    assert left <= {"out", "runs"}, "who came between may have left a folder that all share, empty"


@pytest.mark.parametrize("below", ["", "sub/run"])
def test_a_file_in_the_way(tmp_path: Path, below: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ArtefactError, match="file"):
        check_new_folder(tmp_path / "file" / below)


def test_a_folder_without_write_rights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Path, *args: object, **kwargs: object) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(ArtefactError, match=r"Cannot write .*run \(Permission denied\): make room and rights"):
        check_new_folder(tmp_path / "run")
