"""The stores of `KeptObjects`: which messages are under way, with the tree of each, and which objects have come.

They know each object as a part of messages, and of no other object. What a message says of its parts, which may be a
site's lie, so concerns no other message that has them too.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pfedgp.operator.inside_superlink.message_files import MessageFiles
from pfedgp_core.files.object_files import is_id
from pfedgp_core.wire.carried import FILED, fitting_ids

__all__ = ["KEPT", "MOST_OBJECTS", "KeptStore", "OwnTrees", "check_tree"]

MOST_OBJECTS = 500_000  # under way at a time, a kilobyte of memory each: a message of a model of 45 MB has a dozen
KEPT = b"\0pfedgp: this object is a file of a message"  # in the place of a content
_Before: Any = object  # Flower's store, which is imported where it is needed


class OwnTrees(_Before):  # type: ignore[misc]
    """Goes before Flower's store in memory: each message has the tree that it was announced with."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.trees: dict[str, bytes] = {}

    def preregister(self, run_id: int, object_tree: Any) -> list[str]:
        """Note the objects of a message; those that are missing. ValueError as from `check_tree`."""
        object_tree.DiscardUnknownFields()
        with self.lock_store:
            check_tree(object_tree, self)
            self.announced(run_id, object_tree)
            return self.note(run_id, object_tree)

    def announced(self, run_id: int, object_tree: Any) -> None:
        """A message comes whose tree is sound."""

    def note(self, run_id: int, object_tree: Any) -> list[str]:
        """Note the objects of a sound tree."""
        missing: list[str] = super().preregister(run_id, _parts(object_tree))
        self.trees[object_tree.object_id] = object_tree.SerializeToString()
        return missing

    def get_object_tree(self, object_id: str) -> Any:
        """The tree of a message."""
        with self.lock_store:
            content = self.trees.get(object_id)
            known = super().get_object_tree(object_id)
        return known if content is None else type(known).FromString(content)

    def delete(self, object_id: str) -> None:
        """Delete an object, and those below it that nobody else has."""
        with self.lock_store:
            entry = self.store.get(object_id)
            if entry is not None and entry.ref_count == 0:
                self.trees.pop(object_id, None)
                super().delete(object_id)

    def clear(self) -> None:
        """Delete all."""
        with self.lock_store:
            super().clear()
            self.trees.clear()


class KeptStore(OwnTrees):
    """The same with contents that are files. An OSError says that there is no room.

    Parameters
    ----------
    files : MessageFiles
    large : Path
        The folder of large objects (`FiledObjects`).
    """

    def __init__(self, files: MessageFiles, large: Path) -> None:
        super().__init__(verify=False)  # which is done here, before a content is a file
        self._files, self._large = files, large

    def announced(self, run_id: int, object_tree: Any) -> None:
        """See `OwnTrees`: the tree becomes a file."""
        self._files.write_tree(run_id, object_tree)

    def note(self, run_id: int, object_tree: Any) -> list[str]:
        """Do so for one whose tree is a file."""
        missing = super().note(run_id, object_tree)
        for object_id in missing:
            self.store[object_id].content = b""  # the file of it may have gone
        return missing

    def put(self, object_id: str, object_content: bytes) -> None:
        """Store an object."""
        content = FILED
        if not (object_content == FILED and is_id(object_id) and (self._large / object_id).exists()):
            _check_content(object_id, object_content)
            content = KEPT
        with self.lock_store:
            if content == KEPT and object_id in self:
                self._files.write(object_id, object_content)
            super().put(object_id, content)

    def get(self, object_id: str) -> bytes | None:
        """An object's content, empty where it has not come; None where nobody has announced it, or it is gone."""
        content: bytes | None = super().get(object_id)
        return self.read(object_id) if content == KEPT else content

    def read(self, object_id: str) -> bytes | None:
        """The content of a file; one that is gone is missing from now on."""
        content = self._files.read(object_id)
        if content is None:
            with self.lock_store:
                entry = self.store.get(object_id)
                if entry is not None and entry.content == KEPT:
                    entry.is_available = False
        return content

    def fitting(self, object_ids: list[str], room: int) -> dict[str, bytes]:
        """Those of some objects that are small, and together have at most `room` bytes; the word for large ones."""
        with self.lock_store:
            marks = {each: self.store[each].content for each in object_ids if each in self.store}
        sizes = {each: self._files.size(each) if mark == KEPT else len(mark) for each, mark in marks.items()}
        chosen = fitting_ids(sizes, room)
        found = {each: self.read(each) if marks[each] == KEPT else marks[each] for each in chosen}
        return {each: content for each, content in found.items() if content is not None}

    def delete(self, object_id: str) -> None:
        """Delete an object, and those below it that nobody else has."""
        with self.lock_store:
            entry = self.store.get(object_id)
            if entry is not None and entry.ref_count == 0:
                if object_id in self.trees:
                    self._files.remove_tree(object_id)
                super().delete(object_id)
                self._files.remove(object_id)

    def clear(self) -> None:
        """Delete all."""
        with self.lock_store:
            super().clear()
            self._files.sweep(set())


def check_tree(tree: Any, store: Any) -> None:
    """ValueError where a tree is none that a database would take, or one too many."""
    children, root = dict[str, set[str]](), tree.object_id
    for node in _nodes(tree):
        below = {child.object_id for child in node.children}
        if children.setdefault(node.object_id, below) != below:
            raise ValueError(f"Object {node.object_id} was announced with other children.")
        if not is_id(node.object_id):
            raise ValueError(f"Invalid object ID format: {node.object_id}")
    if root in store.store and store.trees.get(root) != tree.SerializeToString():
        raise ValueError(f"Object {root} was announced with other children.")
    for object_id in children.keys() - {root}:
        if object_id in store.trees:
            raise ValueError(f"Object {object_id} is a message, and no part of one.")
    if len(store.store) + len(children) > MOST_OBJECTS:
        raise ValueError(f"More than {MOST_OBJECTS} objects are under way.")


def _nodes(tree: Any) -> Iterator[Any]:
    yield tree
    for child in tree.children:
        yield from _nodes(child)


def _parts(tree: Any) -> Any:
    """A tree of the same objects, all but the first below that one, each once."""
    from flwr.supercore.inflatable.inflatable_object import iterate_object_tree

    parts = dict.fromkeys(node.object_id for node in iterate_object_tree(tree))
    kind = type(tree)
    return kind(
        object_id=tree.object_id,
        children=[kind(object_id=part) for part in parts if part != tree.object_id],
    )


def _check_content(object_id: str, content: bytes) -> None:
    """ValueError or Flower's own error where this is not that object."""
    from flwr.supercore.inflatable.inflatable_object import get_object_id
    from flwr.supercore.inflatable.inflatable_utils import validate_object_content

    if get_object_id(content) != object_id:
        raise ValueError(f"Object ID {object_id} does not match content hash")
    validate_object_content(content=content)
