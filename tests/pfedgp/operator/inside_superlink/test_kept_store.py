"""A file of a message that is spoilt, and a site that says of an object what is not so, cost others nothing."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME

from pfedgp_core.wire.carried import FILED
from tests.pfedgp.operator.inside_superlink import test_carried_objects as carried
from tests.pfedgp.operator.inside_superlink.test_filed_objects import files_in
from tests.pfedgp.operator.inside_superlink.test_kept_objects import database, sent

__all__ = ["database"]

Damage = Callable[[Path], Any]
DAMAGES: dict[str, Damage] = {
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "flipped": lambda path: path.write_bytes(b"x" + path.read_bytes()[1:]),
    "gone": lambda path: path.unlink(),
    "link": lambda path: path.symlink_to(path.rename(path.with_name("moved"))),
    "pipe": lambda path: (path.unlink(), os.mkfifo(path)),
    "folder": lambda path: (path.unlink(), path.mkdir(), (path / "x").touch()),
}


@pytest.mark.slow
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_file_that_is_spoilt_is_not_given_and_is_asked_for_again(damage: Damage, kept: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, node, request = sent(link)
    contents = carried.contents_of(request)
    spoilt = next(key for key in contents if key != request.object_id)
    damage(kept / spoilt)
    assert link.look(node) == {key: content for key, content in contents.items() if key != spoilt}
    assert link.store.get(spoilt) is None
    assert link.send(run, request, {}) == [spoilt]
    assert link.send(run, request, contents) == []
    assert link.store.get(spoilt) == contents[spoilt]
    damage(kept / spoilt)
    damage(kept / f"{request.object_id}.tree")
    link.confirm(run, request.object_id)
    assert set(files_in(kept)) <= {"moved"}


def lied_about(link: carried.SuperLink) -> tuple[int, Any, Any, list[Any]]:
    """A run, a message of it, and one that the server will send, with what a site says of its objects before.

    The site guesses them, and announces them with a part that never comes, or without their own.
    """
    run, node, first = sent(link)
    request = carried.request_to(run, node, 7)
    record = carried.tree(request).children[0]
    never = ObjectTree(object_id="e" * 64)
    lies = [ObjectTree(object_id=record.object_id), *record.children]
    lies = [ObjectTree(object_id=lie.object_id, children=[*lie.children, never]) for lie in lies]
    for each, lie in enumerate([*lies, ObjectTree(object_id=record.object_id)]):
        link.store.preregister(run, ObjectTree(object_id=f"{each:064x}", children=[lie]))
    return run, first, request, lies


def test_what_a_site_says_of_an_object_is_nothing_to_other_messages_in_memory(kept: Path) -> None:
    """As with ``--no-database``."""
    link = carried.SuperLink(FLWR_IN_MEMORY_DB_NAME)
    run, first, request, _ = lied_about(link)
    assert link.send(run, request, carried.contents_of(request)) == []
    assert link.store.get_object_tree(request.object_id) == carried.tree(request)
    assert link.store.get_object_tree(first.object_id) == carried.tree(first)
    link.confirm(run, first.object_id)
    assert link.store.get_object_tree(request.object_id) == carried.tree(request)
    again = ObjectTree(object_id=request.object_id, children=[ObjectTree(object_id="a" * 64)])
    with pytest.raises(ValueError, match="other children"):
        link.store.preregister(run, again)
    with pytest.raises(ValueError, match="no part of one"):
        link.store.preregister(run, ObjectTree(object_id="a" * 64, children=[carried.tree(request)]))
    link.confirm(run, request.object_id)
    link.store.delete_objects_in_run(run)
    assert (len(link.store), link.store.trees, files_in(kept)) == (0, {}, [])


def test_what_a_site_says_of_an_object_is_nothing_to_other_messages(kept: Path, database: str) -> None:
    link = carried.SuperLink(database)
    run, first, request, lies = lied_about(link)
    assert link.send(run, request, carried.contents_of(request)) == []
    assert link.store.get_object_tree(request.object_id) == carried.tree(request)
    link.confirm(run, first.object_id)
    for again in (link, carried.SuperLink(database)):
        assert again.store.get_object_tree(request.object_id) == carried.tree(request)
        assert again.store.get_object_tree(f"{0:064x}").children == [lies[0]]
    again.confirm(run, request.object_id)
    assert set(again.store.trees) == {f"{each:064x}" for each in range(len(lies) + 1)}
    again.store.delete_objects_in_run(run)
    assert files_in(kept) == []
    assert len(again.store) == 0


def test_a_message_is_no_part_of_another_one(kept: Path, database: str) -> None:
    """Else it would stay for as long as that one does."""
    link = carried.SuperLink(database)
    run, _, request = sent(link)
    with pytest.raises(ValueError, match="no part of one"):
        link.store.preregister(run, ObjectTree(object_id="a" * 64, children=[carried.tree(request)]))
    link.confirm(run, request.object_id)
    assert files_in(kept) == []


def test_an_id_that_is_a_path_is_not_looked_for(kept: Path, database: str) -> None:
    link = carried.SuperLink(database)
    sent(link)
    (kept / "x").touch()
    with pytest.raises(ValueError, match="does not match"):
        link.store.put(f"../{kept.name}/x", FILED)
