"""A full disk: the run ends with the remedy, no round that was kept is lost, and the run goes on once there is room."""

import errno
import os
import resource
import signal
import subprocess
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pfedgp_core.errors import ArtefactError
from pfedgp_core.files import whole as whole_file
from tests.federation_run import Run, federate, resume
from tests.killed import finished
from tests.uninterrupted import MODES, SETTINGS, same, uninterrupted, without_pictures

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


def no_room(name: str) -> Any:
    """A context in which the disk is full when a file whose path holds `name` is written."""
    real = whole_file.to_disk

    def full(file: Any) -> None:
        if name in file.name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(file)

    return mock.patch.object(whole_file, "to_disk", full)


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
@pytest.mark.parametrize("name", ["round-000003", "metrics.jsonl", "best/.model", "clients.csv"])
def test_a_full_disk_ends_the_run_with_the_remedy_and_loses_no_round(name: str, deployed: bool, tmp_path: Path) -> None:
    out = tmp_path / "run"
    sentence = (
        r"Cannot write .*No space left.*: make room and rights there, then go on after round \d with: pfedgp resume"
    )
    with no_room(name), pytest.raises(ArtefactError, match=sentence):
        federate(SETTINGS, out, deployed=deployed)
    assert Run(out).summary["status"] == "failed"
    assert "make room" in Run(out).summary["reason"]
    assert same(resume(out, deployed=deployed), uninterrupted(SETTINGS, deployed))


def test_a_file_size_limit_is_met_like_a_full_disk(tmp_path: Path) -> None:
    """The kernel itself refuses here, in the middle of a write."""
    out = tmp_path / "run"
    size = len((uninterrupted(SETTINGS, True).path / "best" / "model.safetensors").read_bytes())

    def limited() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        # Enough for one vector, not for the two of a checkpoint whose best model is another than the current one.
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(1.5 * size), int(1.5 * size)))
        try:
            federate(SETTINGS, out, deployed=True)
        except ArtefactError as error:
            (tmp_path / "said").write_text(str(error))

    assert finished(limited)
    assert "File too large): make room and rights there, then go on after round" in (tmp_path / "said").read_text()
    assert same(resume(out, deployed=True), uninterrupted(SETTINGS, True))


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_a_disk_that_is_really_full(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=450k", "tmpfs", disk], capture_output=True, check=False
    ).returncode:
        pytest.skip("no file system can be mounted here")
    try:
        with pytest.raises(ArtefactError, match=r"No space left.*make room and rights there, then go on after round"):
            federate(SETTINGS, disk / "run", deployed=True)
        subprocess.run(["mount", "-o", "remount,size=20m", disk], check=True)
        assert same(resume(disk / "run", deployed=True), uninterrupted(SETTINGS, True))
    finally:
        subprocess.run(["umount", disk], check=True)
