"""Objects as files: whole or absent, under the hash that they have, and gone when nobody wants them."""

import hashlib
from pathlib import Path

import pytest

from pfedgp_core.files.object_files import ObjectFiles, offer, read

CONTENT = b"a" * 1000
ID = hashlib.sha256(CONTENT).hexdigest()


def sound(content: bytes) -> bool:
    return True


def test_an_offer_is_adopted_and_read(tmp_path: Path) -> None:
    files = ObjectFiles(tmp_path)
    offer(tmp_path, ID, CONTENT)
    assert files.adopt(ID, sound)
    assert (files.read(ID), read(tmp_path, ID)) == (CONTENT, CONTENT)
    assert [path.name for path in tmp_path.iterdir()] == [ID]
    assert files.adopt(ID, sound)  # a try of the same again, whose offer is taken already
    files.remove(ID)
    assert (files.read(ID), read(tmp_path, ID), list(tmp_path.iterdir())) == (None, None, [])
    assert not files.adopt(ID, sound)


@pytest.mark.parametrize("why", ["another hash", "not sound"])
def test_an_offer_of_something_else_is_refused_and_removed(tmp_path: Path, why: str) -> None:
    files = ObjectFiles(tmp_path)
    offer(tmp_path, ID, CONTENT if why == "not sound" else b"forged")
    assert not files.adopt(ID, lambda _: why != "not sound")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["../escaped", "a" * 64 + "/b", "", ID.upper(), ID + ".offer"])
def test_an_id_that_is_no_hash_names_no_file(tmp_path: Path, name: str) -> None:
    folder = tmp_path / "objects"
    folder.mkdir()
    with pytest.raises(OSError, match=r".*"):
        offer(folder, name, CONTENT)
    files = ObjectFiles(folder)
    assert (read(folder, name), files.keep(name, CONTENT), files.read(name)) == (None, False, None)
    (tmp_path / "escaped").write_bytes(b"theirs")
    files.remove(name)
    assert (tmp_path / "escaped").exists()


def test_content_is_kept_under_its_own_hash_alone(tmp_path: Path) -> None:
    files = ObjectFiles(tmp_path)
    assert not files.keep(ID, b"forged")
    assert not files.exists(ID)
    assert files.keep(ID, CONTENT)
    assert files.exists(ID)


def test_what_a_power_failure_has_cut_counts_as_gone(tmp_path: Path) -> None:
    ObjectFiles(tmp_path).keep(ID, CONTENT)
    assert ObjectFiles(tmp_path).read(ID) == CONTENT
    (tmp_path / ID).write_bytes(CONTENT[:500])
    again = ObjectFiles(tmp_path)
    assert (again.read(ID), again.exists(ID), again.has(ID)) == (None, True, False)


def test_a_sweep_leaves_what_is_wanted(tmp_path: Path) -> None:
    other = hashlib.sha256(b"b").hexdigest()
    files = ObjectFiles(tmp_path)
    for object_id, content in ((ID, CONTENT), (other, b"b")):
        files.keep(object_id, content)
    offer(tmp_path, ID, CONTENT)
    (tmp_path / ".half.partial").write_bytes(b"x")
    ObjectFiles(tmp_path).sweep(lambda object_id: object_id == ID)
    assert [path.name for path in tmp_path.iterdir()] == [ID]


def test_what_nobody_wants_after_storing_is_removed(tmp_path: Path) -> None:
    files = ObjectFiles(tmp_path)
    with files.storing(ID, lambda: False):
        files.keep(ID, CONTENT)
        with files.storing(ID, lambda: False):  # a second one of the same content, which is done before the first
            pass
        assert files.exists(ID)
    assert not files.exists(ID)
    with files.storing(ID, lambda: True):
        files.keep(ID, CONTENT)
    assert files.exists(ID)


def test_a_folder_among_the_files_stays(tmp_path: Path) -> None:
    (tmp_path / "lost+found").mkdir()
    (tmp_path / ".half.partial").write_bytes(b"x")
    ObjectFiles(tmp_path).sweep(lambda _: False)
    assert [path.name for path in tmp_path.iterdir()] == ["lost+found"]


@pytest.mark.parametrize("object_id", ["z" * 5000, "../outside", ""])
def test_what_is_no_hash_is_no_file(tmp_path: Path, object_id: str) -> None:
    (tmp_path / "outside").write_bytes(b"x")
    (tmp_path / "objects").mkdir()
    assert not ObjectFiles(tmp_path / "objects").exists(object_id)
