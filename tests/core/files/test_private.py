"""Private folders: who may read them, whatever the umask and whatever was there, and what is refused."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pfedgp_core.errors import ArtefactError
from pfedgp_core.files.folder import write_folder
from pfedgp_core.files.private import as_private, private_folder, tighten


@pytest.fixture(autouse=True)
def generous() -> Iterator[None]:
    """A umask that leaves others every right."""
    former = os.umask(0)
    yield
    os.umask(former)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_folder_is_its_owners_alone(tmp_path: Path) -> None:
    private_folder(tmp_path / "a", ())
    assert mode(tmp_path / "a") == 0o700


@pytest.mark.parametrize("content", [[], ["lock"], ["lock", "notes.txt"], ["lost+found"]])
def test_a_folder_of_former_times_is_tightened(tmp_path: Path, content: list[str]) -> None:
    folder = tmp_path / "a"
    folder.mkdir(mode=0o755)
    for name in content:
        (folder / name).touch()
    private_folder(folder, ("lock",))
    assert mode(folder) == 0o700


@pytest.mark.parametrize(("rights", "content"), [(0o755, "notes.txt"), (0o777, ""), (0o1777, "lock")])
def test_a_folder_that_others_may_rely_on_is_refused(tmp_path: Path, rights: int, content: str) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    if content:
        (folder / content).touch()
    folder.chmod(rights)
    with pytest.raises(ArtefactError, match=f"chmod 700 {folder}"):
        private_folder(folder, ("lock",))
    assert mode(folder) == rights & 0o777 or rights == 0o1777


def test_files_lose_the_rights_of_others_and_keep_their_owners(tmp_path: Path) -> None:
    for name in ("a.db", "logs/x.log", "runs/report.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch(mode=0o755)
    tighten(tmp_path, ("logs",))
    found = {name: mode(tmp_path / name) for name in ("a.db", "logs", "logs/x.log", "runs", "runs/report.html")}
    assert found == {"a.db": 0o700, "logs": 0o700, "logs/x.log": 0o700, "runs": 0o777, "runs/report.html": 0o755}


def test_what_a_link_stands_for_is_left_alone(tmp_path: Path) -> None:
    target = tmp_path / "shared"
    target.touch(mode=0o644)
    (tmp_path / "a/logs").mkdir(parents=True)
    (tmp_path / "a/logs/link").symlink_to(target)
    tighten(tmp_path / "a", ("logs",))
    assert mode(target) == 0o644


def test_the_umask_is_as_before_afterwards(tmp_path: Path) -> None:
    with as_private() as former:
        (tmp_path / "a").touch()
    (tmp_path / "b").touch()
    assert (former, mode(tmp_path / "a"), mode(tmp_path / "b")) == (0, 0o600, 0o666)


def test_a_written_folder_is_private_and_so_is_one_that_is_replaced(tmp_path: Path) -> None:
    site = tmp_path / "site"
    write_folder(site, {"a": b"1"})
    assert (mode(site), mode(site / "a")) == (0o700, 0o600)
    (site / "kept").touch(mode=0o644)
    (site / "a").chmod(0o644)
    site.chmod(0o755)
    write_folder(site, {"a": b"2"}, replace=True)
    assert (mode(site), mode(site / "a"), mode(site / "kept")) == (0o700, 0o600, 0o600)
