"""Large objects lie in files beside the SuperLink's state: Flower keeps them in its database, or in memory.

An object of a large model has 5 MB. In the database it is written twice, under a lock upon all others, and between the
server app and the SuperLink it goes through HTTP and TLS although both are on one machine. Here the state keeps a mark
in the object's place. The content is a file (`pfedgp_core.files.object_files`), which a server app that sees the folder
reads, and offers, itself. Its hash is checked as Flower checks it, before the database is locked for it.
"""

import functools
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from pfedgp_core.files.object_files import ObjectFiles
from pfedgp_core.patch import Patch, lacks
from pfedgp_core.wire.carried import FILED, LARGEST

__all__ = ["FiledObjects"]

_STORES = "flwr.supercore.object_store"
_KINDS = {
    "InMemory": ("in_memory_object_store", "flwr.supercore.corestate.in_memory_corestate"),
    "Sql": ("sql_object_store", "flwr.supercore.corestate.sql_corestate"),
}
_CHECKS = "flwr.supercore.inflatable.inflatable_utils"


class FiledObjects(Patch):
    """Lets the states of this process keep large objects in files.

    Parameters
    ----------
    folder : Path, optional
        For the files; made where it is missing. Needed to apply the patch.
    """

    name: ClassVar = "filed-objects"
    purpose: ClassVar = "an object of a large model is a file, which the server app reads and writes itself"

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def missing(self) -> str:
        """What of the stores of objects and of the states is gone."""
        parts = [lacks(_CHECKS, "validate_object_content", {"content"})]
        parts += [lacks("flwr.supercore.inflatable.inflatable_object", "UnexpectedObjectContentError")]
        for kind, (store, state) in _KINDS.items():
            name = f"{_STORES}.{store}"
            parts += [lacks(name, f"{kind}ObjectStore", {"verify"}), lacks(name, f"{kind}ObjectStore.__contains__")]
            parts += [lacks(name, f"{kind}ObjectStore.put", {"object_id", "object_content"})]
            parts += [lacks(name, f"{kind}ObjectStore.{each}", {"object_id"}) for each in ("get", "delete")]
            parts += [lacks(state, f"{kind}CoreState.store_object", {"run_id", "session_id", "object_id"})]
        parts += [lacks(f"{_STORES}.object_store_factory", "ObjectStoreFactory.store")]
        return next(filter(None, parts), "")

    def apply(self) -> None:
        """Replace how the stores keep objects, and remove files that no store knows once one is made."""
        assert self._folder is not None
        self._folder.mkdir(mode=0o700, exist_ok=True)
        files = ObjectFiles(self._folder)
        for kind, (name, state) in _KINDS.items():
            store: Any = getattr(importlib.import_module(f"{_STORES}.{name}"), f"{kind}ObjectStore")
            store.put, store.get = _putting(store.put, files), _getting(store.get, files)
            store.delete = _deleting(store.delete, files)
            core: Any = getattr(importlib.import_module(state), f"{kind}CoreState")
            core.store_object = _storing(core.store_object, files)
        factory: Any = importlib.import_module(f"{_STORES}.object_store_factory").ObjectStoreFactory
        factory.store = _sweeping(factory.store, files)


class _Unverified:
    """A store of objects that takes a mark for a content which was checked already."""

    verify = False

    def __init__(self, store: Any) -> None:
        self._store = store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


def _storing(store: Callable[..., bool], files: ObjectFiles) -> Callable[..., bool]:
    @functools.wraps(store)
    def store_object(self: Any, run_id: int, session_id: str, object_id: str, object_content: bytes) -> bool:
        filed = object_content == FILED
        if not filed and len(object_content) <= LARGEST:
            return store(self, run_id, session_id, object_id, object_content)
        with files.storing(object_id, lambda: object_id in self.object_store):
            try:
                if filed:
                    there = files.adopt(object_id, _is_sound)
                else:
                    there = _is_sound(object_content) and files.keep(object_id, object_content)
            except OSError:  # no room, or no rights
                there = False
            return there and store(self, run_id, session_id, object_id, FILED)

    return store_object


def _putting(put: Callable[..., None], files: ObjectFiles) -> Callable[..., None]:
    @functools.wraps(put)
    def put_object(self: Any, object_id: str, object_content: bytes) -> None:
        filed = object_content == FILED and files.has(object_id)
        put(_Unverified(self) if filed else self, object_id, object_content)

    return put_object


def _getting(get: Callable[..., bytes | None], files: ObjectFiles) -> Callable[..., bytes | None]:
    @functools.wraps(get)
    def get_object(self: Any, object_id: str) -> bytes | None:
        content = get(self, object_id)
        return files.read(object_id) if content == FILED else content

    return get_object


def _deleting(delete: Callable[..., None], files: ObjectFiles) -> Callable[..., None]:
    @functools.wraps(delete)
    def delete_object(self: Any, object_id: str) -> None:
        delete(self, object_id)  # and those below it, through this function
        if files.exists(object_id) and object_id not in self:
            files.remove(object_id)

    return delete_object


def _sweeping(store: Callable[..., Any], files: ObjectFiles) -> Callable[..., Any]:
    @functools.wraps(store)
    def swept(self: Any) -> Any:
        new = self.store_instance is None
        made = store(self)
        if new:
            files.sweep(lambda object_id: object_id in made)
        return made

    return swept


def _is_sound(content: bytes) -> bool:
    from flwr.supercore.inflatable.inflatable_object import UnexpectedObjectContentError
    from flwr.supercore.inflatable.inflatable_utils import validate_object_content

    try:
        validate_object_content(content=content)
    except UnexpectedObjectContentError:
        return False
    return True
