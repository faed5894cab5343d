"""Large objects are files beside the state, on Flower's own states in memory and in a database."""

import importlib
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Array, ArrayRecord, Message, RecordDict
from flwr.app.message.arraychunk import ArrayChunk
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.supercore.inflatable.inflatable_object import get_object_id

from pfedgp.operator.inside_superlink import filed_objects
from pfedgp.operator.inside_superlink.filed_objects import FiledObjects
from pfedgp_core.files.object_files import offer, read
from pfedgp_core.wire.carried import FILED, LARGEST
from tests.pfedgp.operator.inside_superlink import test_carried_objects as carried

CONTENT = ArrayChunk(memoryview(bytes(range(256)) * (LARGEST // 256 + 1))).deflate()
ID = get_object_id(CONTENT)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the patch, which is taken back after the test."""
    changed = {"object_store.object_store_factory.ObjectStoreFactory": ["store"]}
    for kind, (store, state) in filed_objects._KINDS.items():
        changed[f"object_store.{store}.{kind}ObjectStore"] = ["put", "get", "delete"]
        changed[f"corestate.{state.rpartition('.')[2]}.{kind}CoreState"] = ["store_object"]
    for path, names in changed.items():
        module, _, name = path.rpartition(".")
        kind: Any = getattr(importlib.import_module(f"flwr.supercore.{module}"), name)
        for each in names:
            monkeypatch.setattr(kind, each, getattr(kind, each))
    FiledObjects(tmp_path / "objects").apply()
    return tmp_path / "objects"


def large(run: int, node: int) -> Message:
    """A request with one large object."""
    array = Array("u1", (1,), "raw", CONTENT[-LARGEST - 100 :])
    message = Message(RecordDict({"a": ArrayRecord({"v": array})}), node, "train")
    message.metadata.__dict__.update(_run_id=run, _src_node_id=SUPERLINK_NODE_ID)
    message.metadata.__dict__["_message_id"] = message.object_id
    return message


def same_again(request: Message) -> Message:
    """A reply with the same content, and so with the same large object."""
    reply = Message(request.content, reply_to=request)
    reply.metadata.__dict__["_ttl"] -= 600.0
    reply.metadata.__dict__["_message_id"] = reply.object_id
    return reply


def parts(message: Message) -> tuple[dict[str, bytes], str, bytes]:
    """Its small objects, and its large one."""
    contents = carried.contents_of(message)
    (key,) = [key for key, content in contents.items() if len(content) > LARGEST]
    return contents, key, contents.pop(key)


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.slow
def test_an_object_goes_from_file_to_file(folder: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = large(run, node)
    small, key, content = parts(request)
    offer(folder, key, content)
    assert link.send(run, request, small | {key: FILED}) == []
    assert files_in(folder) == [key]
    assert link.look(node) == small  # a site has no such folder
    assert link.state.get_object(run, key) == content
    reply = same_again(request)
    small, _, _ = parts(reply)
    assert link.reply(node, reply, small) == []
    assert link.fetch(run, request.metadata.message_id) == small | {key: FILED}
    assert read(folder, key) == content
    link.store.delete(request.object_id)
    assert files_in(folder) == [key]  # the reply still has it
    link.store.delete(reply.object_id)
    assert files_in(folder) == []


def test_a_server_app_that_sees_no_folder_sends_and_gets_by_calls(folder: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = large(run, node)
    small, key, content = parts(request)
    assert link.send(run, request, small) == [key]
    session = link.state.start_session(run)
    assert not link.state.store_object(run, session, key, content)  # of another push
    assert files_in(folder) == [key]  # announced, so that it may come
    message = link.state.store_message_and_object_tree(request, carried.tree(request), session)
    assert message == (True, [key])
    assert link.state.store_object(run, session, key, content)
    assert link.state.get_object(run, key) == content
    link.look(node)
    reply = same_again(request)
    small, _, _ = parts(reply)
    link.reply(node, reply, small)
    assert link.fetch(run, request.metadata.message_id) == small


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT[:-1] + b"x", b"a" * (LARGEST + 1), FILED])
def test_what_is_not_the_object_is_refused_and_leaves_no_file(folder: Path, database: str, content: bytes) -> None:
    link = carried.SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = large(run, node)
    _, key, _ = parts(request)
    session = link.state.start_session(run)
    assert link.state.store_message_and_object_tree(request, carried.tree(request), session)[0]
    assert not link.state.store_object(run, session, key, content)
    assert files_in(folder) == []
    assert link.state.get_object(run, key) == b""


def test_what_nobody_has_announced_takes_no_room(folder: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run = link.start_run()
    assert not link.state.store_object(run, link.state.start_session(run), ID, CONTENT)
    assert files_in(folder) == []


def test_an_offer_that_is_not_asked_for_is_taken_away(folder: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = large(run, node)
    small, key, content = parts(request)
    for _ in range(2):  # the second time the first one's answer was lost
        offer(folder, key, content)
        assert link.send(run, request, small | {key: FILED}) == []
        assert files_in(folder) == [key]


def test_a_mark_alone_stands_for_nothing(folder: Path, database: str) -> None:
    """A site that sends the word for a file has to have sent the file."""
    link = carried.SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = large(run, node)
    small, key, content = parts(request)
    offer(folder, key, content)
    link.send(run, request, small | {key: FILED})
    link.look(node)
    reply = carried.reply_to(request)
    assert set(link.reply(node, reply, dict.fromkeys(carried.contents_of(reply), FILED))) == set(
        carried.contents_of(reply)
    )


def test_no_room_for_a_file_is_a_refusal(folder: Path, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pfedgp_core.files.object_files.write_object", full)
    link = carried.SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = large(run, node)
    _, key, content = parts(request)
    session = link.state.start_session(run)
    link.state.store_message_and_object_tree(request, carried.tree(request), session)
    assert not link.state.store_object(run, session, key, content)


def test_a_superlink_that_was_killed_finds_its_files_and_removes_others(folder: Path, on_disk: str) -> None:
    link = carried.SuperLink(on_disk)
    run, node = link.start_run(), link.register(b"a")
    request = large(run, node)
    small, key, content = parts(request)
    offer(folder, key, content)
    link.send(run, request, small | {key: FILED})
    offer(folder, ID, CONTENT)
    (folder / ID).write_bytes(CONTENT)
    again = carried.SuperLink(on_disk)
    assert files_in(folder) == [key]
    assert again.state.get_object(run, key) == content
    again.store.delete(request.object_id)
    assert files_in(folder) == []


def test_small_objects_stay_in_the_state(folder: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, node = link.start_run(), link.register(b"a")
    request = carried.request_to(run, node)
    link.send(run, request, carried.contents_of(request))
    assert files_in(folder) == []


def test_flower_has_what_it_needs() -> None:
    assert FiledObjects().missing() == ""
