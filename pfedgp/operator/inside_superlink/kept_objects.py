"""Objects under way are files, and their trees are in memory: Flower's SuperLink with a database has rows for them.

A request and its reply have six small objects. To announce, store, read and delete them takes the database about a
hundred statements, which is most of what a message costs a SuperLink. Here Flower's own store in memory keeps the
trees alone, and contents are read from files (`pfedgp.operator.inside_superlink.message_files`), so that its memory
does not grow with the models under way.

A SuperLink that is killed finds its messages again. What it says to the database and to the files is no transaction,
so their order is: a tree and a content are written before the database says so, and a message's tree is removed before
anything below it. Whatever a kill leaves is a whole message, or files of none, which the next start removes.

A SuperLink without a database keeps contents in memory, and trees as they are kept here.
"""

import importlib
from pathlib import Path
from typing import Any, ClassVar

from pfedgp.operator.inside_superlink.kept_store import KEPT, KeptStore, OwnTrees, check_tree
from pfedgp.operator.inside_superlink.message_files import MessageFiles
from pfedgp_core.patch import Patch, lacks
from pfedgp_core.wire.carried import FILED, ids_of

__all__ = ["KeptObjects", "keeping"]

_FACTORY = "flwr.supercore.object_store.object_store_factory"
_STORE = "flwr.supercore.object_store.in_memory_object_store"
_SQL = "flwr.supercore.object_store.sql_object_store"
_ROWS = "flwr.supercore.state.schema.objectstore_models"
_HASH = "flwr.supercore.inflatable.inflatable_object"
_CHECKS = "flwr.supercore.inflatable.inflatable_utils"


class KeptObjects(Patch):
    """Gives a SuperLink with a database a store whose objects are files, and one without a store of own trees.

    Parameters
    ----------
    folder : Path, optional
        For the files; made where it is missing. Needed to apply the patch.
    large : Path, optional
        Where large objects lie (`FiledObjects`, which is applied before this).
    """

    name: ClassVar = "kept-objects"
    purpose: ClassVar = "objects under way take no statements of the SuperLink's database"

    def __init__(self, folder: Path | None = None, large: Path | None = None) -> None:
        self._folder, self._large = folder, large

    def missing(self) -> str:
        """What of the stores of objects is gone."""
        parts = [lacks(_FACTORY, "ObjectStoreFactory.store"), lacks(_FACTORY, "SqlObjectStore", {"database_path"})]
        parts += [lacks(_FACTORY, "InMemoryObjectStore", {"verify"})]
        parts += [
            lacks(_SQL, f"SqlObjectStore.{name}") for name in ("initialize", "session", "get_object_tree", "clear")
        ]
        parts += [lacks(_ROWS, name) for name in ("StoredObject.content", "ObjectChild.child_id", "RunObject.run_id")]
        parts += [lacks(_STORE, "InMemoryObjectStore", {"verify"})]
        parts += [lacks(_STORE, "InMemoryObjectStore.preregister", {"run_id", "object_tree"})]
        parts += [lacks(_STORE, "InMemoryObjectStore.put", {"object_id", "object_content"})]
        kinds = ("get", "delete", "get_object_tree")
        parts += [lacks(_STORE, f"InMemoryObjectStore.{name}", {"object_id"}) for name in kinds]
        parts += [lacks(_STORE, f"InMemoryObjectStore.{name}") for name in ("clear", "__contains__")]
        parts += [lacks(_HASH, "get_object_id"), lacks(_HASH, "iterate_object_tree")]
        parts += [lacks(_CHECKS, "validate_object_content", {"content"})]
        parts += [lacks("flwr.proto.message_pb2", "ObjectTree.FromString")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Replace the store that a database gets, and the one in memory."""
        assert self._folder is not None
        assert self._large is not None
        folder, large = self._folder, self._large
        folder.mkdir(mode=0o700, exist_ok=True)
        module: Any = importlib.import_module(_FACTORY)
        former = module.SqlObjectStore

        def store(database_path: str) -> Any:
            database = former(database_path)
            kept = keeping(folder, large)

            def initialize() -> None:
                database.initialize()  # its tables are those of all of Flower
                _take_over(database, kept)

            kept.initialize = initialize
            return kept

        memory: Any = importlib.import_module(_STORE).InMemoryObjectStore

        class InMemoryStore(OwnTrees, memory):  # type: ignore[misc]
            """Flower's store in memory, whose messages have their own trees."""

        module.SqlObjectStore, module.InMemoryObjectStore = store, InMemoryStore


def keeping(folder: Path, large: Path) -> Any:
    """A store that knows the messages of this folder, and keeps objects there; `large` has those of `FiledObjects`."""
    memory: Any = importlib.import_module(_STORE).InMemoryObjectStore
    files = MessageFiles(folder)

    class Store(KeptStore, memory):  # type: ignore[misc]
        """Flower's store in memory, as it is kept here."""

    store = Store(files, large)
    _restore(store, files, large)
    return store


def _restore(store: Any, files: MessageFiles, large: Path) -> None:
    """Take in what a SuperLink before this one has left, and remove what belongs to no message."""
    wanted = set[str]()
    for name, run_id, tree in files.trees():
        try:
            check_tree(tree, store)
        except ValueError:  # not as this store writes them
            continue
        store.note(run_id, tree)
        wanted.add(name)
        for object_id in set(ids_of(tree)) - wanted:
            wanted.add(object_id)
            if files.read(object_id) is not None:
                content = KEPT
            elif (large / object_id).exists():
                content = FILED
            else:
                continue
            store.store[object_id].content, store.store[object_id].is_available = content, True
    files.sweep(wanted)


def _take_over(database: Any, store: Any) -> None:
    """Move what a version before this one has left in the database."""
    from flwr.supercore.object_store import NoObjectInStoreError
    from flwr.supercore.state.schema.objectstore_models import ObjectChild, RunObject, StoredObject
    from flwr.supercore.utils import int64_to_uint64
    from sqlalchemy import select

    below = select(ObjectChild.child_id)
    messages = select(RunObject.run_id, RunObject.object_id).where(RunObject.object_id.not_in(below))
    with database.session() as session:
        for run_id, object_id in session.execute(messages).all():
            try:
                tree = database.get_object_tree(object_id)
                store.preregister(int64_to_uint64(run_id), tree)
                for each in set(ids_of(tree)):
                    content = session.scalar(select(StoredObject.content).where(StoredObject.object_id == each))
                    if content:
                        store.put(each, content)
            except (NoObjectInStoreError, ValueError):  # not whole
                continue
    database.clear()
