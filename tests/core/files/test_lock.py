"""A lock on a file: one process at a time, whose end frees it."""

import fcntl
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pfedgp_core.errors import ArtefactError, ConfigError
from pfedgp_core.files.lock import FileLock, holder, is_locked

HOLDS = (
    "import sys, time; from pathlib import Path; from pfedgp_core.files.lock import FileLock\n"
    "lock = FileLock(Path(sys.argv[1]), RuntimeError); print('held', flush=True); time.sleep(600)"
)


def refused(who: str) -> ConfigError:
    return ConfigError(f"{who} has it.")


def test_a_lock_is_held_in_its_block(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock", refused):
        assert is_locked(tmp_path / "lock")


def test_a_lock_is_free_after_its_block(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock", refused):
        pass
    assert not is_locked(tmp_path / "lock")


def test_a_look_at_that_instant_is_no_holder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lock").touch()
    with (tmp_path / "lock").open("rb") as look:
        fcntl.flock(look, fcntl.LOCK_SH)
        monkeypatch.setattr(time, "sleep", lambda _: fcntl.flock(look, fcntl.LOCK_UN))  # the look ends meanwhile
        with FileLock(tmp_path / "lock", refused):
            assert is_locked(tmp_path / "lock")


def test_the_file_of_a_lock_stays(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock", refused):
        pass
    assert (tmp_path / "lock").exists()


def test_the_holder_is_named(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock", refused), pytest.raises(ConfigError, match=f"^process {os.getpid()} has it"):
        FileLock(tmp_path / "lock", refused)


def test_a_holder_that_is_not_known_has_other_words(tmp_path: Path) -> None:
    with FileLock(tmp_path / "lock", refused):
        (tmp_path / "lock").write_text("")
        with pytest.raises(ConfigError, match=r"^another process has it"):
            FileLock(tmp_path / "lock", refused)


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLDS, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == "held\n"
        held = is_locked(tmp_path / "lock")
        process.kill()
    assert (held, is_locked(tmp_path / "lock")) == (True, False)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"Cannot write .*none \(No such file or directory\)"):
        FileLock(tmp_path / "none" / "lock", refused)


def test_a_missing_file_is_not_locked(tmp_path: Path) -> None:
    assert not is_locked(tmp_path / "lock")


def test_a_lock_released_twice_is_released(tmp_path: Path) -> None:
    lock = FileLock(tmp_path / "lock", refused)
    lock.release()
    lock.release()
    assert not is_locked(tmp_path / "lock")


@pytest.mark.parametrize(("content", "pid"), [(b"77\n", 77), (b"", 0), (b"\xff\xfe", 0)])
def test_the_process_id_in_a_file(tmp_path: Path, content: bytes, pid: int) -> None:
    (tmp_path / "lock").write_bytes(content)
    assert holder(tmp_path / "lock") == pid
