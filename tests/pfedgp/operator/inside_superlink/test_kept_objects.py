"""Objects under way are files and no rows of the database; a SuperLink that is killed finds them."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.object_store import NoObjectInStoreError
from flwr.supercore.object_store.sql_object_store import SqlObjectStore

from pfedgp.operator.inside_superlink import kept_store, message_files
from pfedgp.operator.inside_superlink.kept_objects import KeptObjects, keeping
from pfedgp.operator.inside_superlink.kept_store import KEPT
from pfedgp_core.files.object_files import offer
from pfedgp_core.wire.carried import FILED, MOST
from tests.pfedgp.operator.inside_superlink import test_carried_objects as carried
from tests.pfedgp.operator.inside_superlink.test_filed_objects import files_in, folder, large, parts

__all__ = ["folder"]


@pytest.fixture
def database(tmp_path: Path, empty: Path) -> str:
    return str(shutil.copy(empty, tmp_path / "state.db"))


def rows(database: str) -> int:
    store = SqlObjectStore(database)
    store.initialize()
    return len(store)


def sent(link: carried.SuperLink, value: int = 1) -> tuple[int, int, Any]:
    """A run, a site, and a request to it that is under way."""
    run, node = link.start_run(), link.register(b"a")
    request = carried.request_to(run, node, value)
    assert link.send(run, request, carried.contents_of(request)) == []
    return run, node, request


@pytest.mark.slow
def test_a_message_there_and_back_leaves_nothing(kept: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, node, request = sent(link)
    assert files_in(kept) == sorted([*carried.contents_of(request), f"{request.object_id}.tree"])
    assert link.look(node) == carried.contents_of(request)
    link.confirm(run, request.object_id)
    assert files_in(kept) == []
    reply = carried.reply_to(request)
    assert link.reply(node, reply, carried.contents_of(reply)) == []
    assert link.fetch(run, request.metadata.message_id) == carried.contents_of(reply)
    link.received(run, reply.object_id)
    assert files_in(kept) == []
    assert rows(database) == 0


@pytest.mark.slow
def test_contents_take_no_memory_and_are_their_owners_alone(kept: Path, database: str) -> None:
    link = carried.SuperLink(database)
    sent(link)
    assert {entry.content for entry in link.store.store.values()} == {KEPT}
    assert kept.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in kept.iterdir()} == {0o600}


@pytest.mark.slow
def test_an_object_of_two_messages_stays_for_the_second_also_after_a_kill(kept: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, nodes = link.start_run(), [link.register(key) for key in (b"a", b"b", b"c")]
    requests = [carried.request_to(run, node) for node in nodes]
    for request in requests:
        link.send(run, request, carried.contents_of(request))
    shared = set.intersection(*(set(carried.contents_of(request)) for request in requests))
    assert shared
    link.confirm(run, requests[0].object_id)
    assert link.look(nodes[1]) == carried.contents_of(requests[1])
    again = carried.SuperLink(database)
    assert {each: entry.ref_count for each, entry in again.store.store.items()} == {
        each: entry.ref_count for each, entry in link.store.store.items()
    }
    again.confirm(run, requests[1].object_id)
    assert again.look(nodes[2]) == carried.contents_of(requests[2])
    again.confirm(run, requests[2].object_id)
    assert files_in(kept) == []


@pytest.mark.slow
@pytest.mark.parametrize("whole", [True, False])
def test_a_superlink_that_was_killed_finds_its_messages(whole: bool, kept: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = carried.request_to(run, node)
    contents = carried.contents_of(request)
    first = contents if whole else dict(list(contents.items())[:1])
    lacking = link.send(run, request, first)
    again = carried.SuperLink(database)
    assert again.look(node) == first
    assert set(again.send(run, request, {})) == set(lacking)  # what the next try of the same is asked for
    assert again.send(run, request, contents) == []
    assert again.look(node) == contents
    again.confirm(run, request.object_id)
    assert files_in(kept) == []


def test_it_finds_large_ones_too(kept: Path, folder: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = large(run, node)
    small, key, content = parts(request)
    offer(folder, key, content)
    assert link.send(run, request, small | {key: FILED}) == []
    again = carried.SuperLink(database)
    assert again.look(node) == small
    assert again.state.get_object(run, key) == content
    again.confirm(run, request.object_id)
    assert (files_in(kept), files_in(folder)) == ([], [])


def test_what_a_power_failure_has_cut_is_asked_for_again(kept: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, node, request = sent(link)
    other = carried.request_to(run, node, 7)
    link.send(run, other, carried.contents_of(other))
    cut = next(key for key in carried.contents_of(request) if key != request.object_id)
    (kept / cut).write_bytes(b"half")
    whole = (kept / f"{other.object_id}.tree").read_bytes()
    (kept / f"{other.object_id}.tree").write_bytes(whole[:106])  # of its run and the message's own id, which is a tree
    (kept / "zero.tree").write_bytes(b"")
    (kept / "link.tree").symlink_to((kept / f"{request.object_id}.tree").rename(kept.parent / "moved"))
    (kept / f"{request.object_id}.tree").write_bytes((kept.parent / "moved").read_bytes())
    (kept / ".x.partial").write_bytes(b"")
    (kept / "lost+found").mkdir()
    again = carried.SuperLink(database)
    assert again.send(run, request, {}) == [cut]
    assert set(again.send(run, other, {})) == set(carried.contents_of(other))
    assert not [path for path in kept.iterdir() if path.name in (".x.partial", "link.tree", "zero.tree")]
    assert (kept / "lost+found").is_dir()


def test_the_end_of_a_run_removes_its_objects(kept: Path, database: str) -> None:
    run, _, request = sent(carried.SuperLink(database))
    again = carried.SuperLink(database)
    again.store.delete_objects_in_run(run)
    assert files_in(kept) == []
    with pytest.raises(NoObjectInStoreError):
        again.store.get_object_tree(request.object_id)


def test_a_forged_content_is_refused_as_ever_and_leaves_no_file(kept: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = carried.request_to(run, node)
    for forged in (b"forged", KEPT, FILED):
        lacking = link.send(run, request, dict.fromkeys(carried.contents_of(request), forged))
        assert set(lacking) == set(carried.contents_of(request))
        assert files_in(kept) == [f"{request.object_id}.tree"]
        for key in lacking:
            with pytest.raises(ValueError, match=key):
                link.store.put(key, forged)


def test_an_announcement_that_a_database_would_refuse_leaves_nothing(
    kept: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A site makes the trees of its replies."""
    link = carried.SuperLink(database)
    _, _, request = sent(link)
    before = files_in(kept), set(link.store.store)
    other = "a" * 64
    other_children = ObjectTree(object_id=request.object_id, children=[ObjectTree(object_id=other)])
    no_id = ObjectTree(object_id=other, children=[ObjectTree(object_id="../../x")])
    twice = ObjectTree(object_id=other, children=[ObjectTree(object_id="b" * 64), other_children])
    for tree, told in ((other_children, "other children"), (no_id, "Invalid object ID"), (twice, "other children")):
        with pytest.raises(ValueError, match=told):
            link.store.preregister(7, tree)
    monkeypatch.setattr(kept_store, "MOST_OBJECTS", len(before[1]))
    with pytest.raises(ValueError, match="are under way"):
        link.store.preregister(7, ObjectTree(object_id=other))
    assert (files_in(kept), set(link.store.store)) == before


def test_a_full_disk_is_a_refusal_with_the_remedy_and_room_lets_the_message_go_on(
    kept: Path, database: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def full(path: Path, content: bytes) -> None:
        if path.suffix == suffix:
            raise OSError(28, "No space left on device")
        write(path, content)

    write = message_files.MessageFiles._write.__globals__["write_object"]
    monkeypatch.setattr("pfedgp.operator.inside_superlink.message_files.write_object", full)
    link = carried.SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = carried.request_to(run, node)
    contents = carried.contents_of(request)
    suffix = ".tree"
    with pytest.raises(OSError, match=r"No space left on device: make room and rights there .*messages"):
        link.send(run, request, contents)
    assert files_in(kept) == []
    assert len(link.store) == 0
    suffix = ""
    assert set(link.send(run, request, contents)) == set(contents)
    assert "make room and rights there" in caplog.text
    assert {link.store.get(each) for each in contents} == {b""}
    suffix = "none"
    assert link.send(run, request, contents) == []
    assert link.look(node) == contents


@pytest.mark.slow
def test_a_superlink_takes_over_what_a_version_before_has_in_its_database(
    tmp_path: Path, database: str, folder: Path, request: pytest.FixtureRequest
) -> None:
    former = carried.SuperLink(database)
    run, node, small = sent(former)
    big = large(run, node)
    contents, key, content = parts(big)
    offer(folder, key, content)
    former.send(run, big, contents | {key: FILED})
    part = carried.request_to(run, node, 7)
    assert former.send(run, part, {}) != []
    assert rows(database) > 0
    kept = request.getfixturevalue("kept")
    link = carried.SuperLink(database)
    assert rows(database) == 0
    assert link.look(node) == carried.contents_of(small)
    link.confirm(run, small.object_id)
    assert link.look(node) == contents
    assert link.state.get_object(run, key) == content
    assert set(link.send(run, part, {})) == set(carried.contents_of(part))
    assert carried.SuperLink(database).look(node) == contents
    assert len(files_in(kept)) == len(contents) + 2


def test_contents_are_read_only_where_there_is_room(kept: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    link = carried.SuperLink(database)
    _, _, request = sent(link)
    contents = carried.contents_of(request)
    read = list[str]()
    monkeypatch.setattr(message_files.MessageFiles, "read", lambda self, each: read.append(each) or contents[each])
    first, *_ = contents
    assert link.store.fitting(list(contents), len(contents[first])) == {first: contents[first]}
    assert read == [first]


@pytest.mark.slow
def test_a_thousand_messages_are_found_again(tmp_path: Path) -> None:
    for name in ("messages", "objects"):
        (tmp_path / name).mkdir()
    store = keeping(tmp_path / "messages", tmp_path / "objects")
    requests = [carried.request_to(7, 3, value) for value in range(1000)]
    for request in requests:
        store.preregister(7, carried.tree(request))
        for key, content in carried.contents_of(request).items():
            store.put(key, content)
    again = keeping(tmp_path / "messages", tmp_path / "objects")
    assert again.store == store.store
    assert again.run_objects_mapping == store.run_objects_mapping
    assert again.fitting([requests[0].object_id], MOST).keys() == {requests[0].object_id}
    again.clear()
    assert files_in(tmp_path / "messages") == []


def test_flower_has_what_it_needs() -> None:
    assert KeptObjects().missing() == ""
