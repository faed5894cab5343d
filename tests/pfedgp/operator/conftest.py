"""Databases of Flower's SuperLink, in memory and on disk, there with its own store of objects and with ours."""

import shutil
from pathlib import Path

import pytest
from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME
from flwr.supercore.object_store import ObjectStoreFactory, object_store_factory
from flwr.supercore.object_store.in_memory_object_store import InMemoryObjectStore
from flwr.supercore.object_store.sql_object_store import SqlObjectStore

from pfedgp.operator.inside_superlink.kept_objects import KeptObjects
from tests.pfedgp.operator.inside_superlink.test_redelivery import SuperLink


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of Flower's with no run, made once, because its migrations take seconds."""
    path = tmp_path_factory.mktemp("empty") / "state.db"
    ObjectStoreFactory(str(path)).store()
    return path


@pytest.fixture
def kept(empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of objects under way, which are no rows of a database; beside it `objects`, for large ones."""
    assert empty.is_file()  # made before, by Flower's own store
    monkeypatch.setattr(object_store_factory, "SqlObjectStore", SqlObjectStore)
    monkeypatch.setattr(object_store_factory, "InMemoryObjectStore", InMemoryObjectStore)
    KeptObjects(tmp_path / "messages", tmp_path / "objects").apply()
    return tmp_path / "messages"


@pytest.fixture(params=["rows", "files"])
def on_disk(request: pytest.FixtureRequest, tmp_path: Path, empty: Path) -> str:
    """A database that a SuperLink started again finds, whose objects are rows or files."""
    if request.param == "files":
        request.getfixturevalue("kept")
    return str(shutil.copy(empty, tmp_path / "state.db"))


@pytest.fixture(params=["memory", "own trees", "rows", "files"])
def database(request: pytest.FixtureRequest, tmp_path: Path, empty: Path) -> str:
    """Any of those that a SuperLink may have, in memory and on disk, as Flower has them and as they are here."""
    if request.param == "own trees":
        request.getfixturevalue("kept")
    if request.param in ("memory", "own trees"):
        return FLWR_IN_MEMORY_DB_NAME
    if request.param == "files":
        request.getfixturevalue("kept")
    return str(shutil.copy(empty, tmp_path / "state.db"))


@pytest.fixture
def link(tmp_path: Path, empty: Path) -> SuperLink:
    """Flower's SuperLink with a database on disk, as it is without patches of its answers."""
    return SuperLink(str(shutil.copy(empty, tmp_path / "state.db")), mended=False)
