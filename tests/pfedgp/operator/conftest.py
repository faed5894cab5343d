"""Databases of Flower's SuperLink, in memory and on disk."""

import shutil
from pathlib import Path

import pytest
from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME
from flwr.supercore.object_store import ObjectStoreFactory


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of Flower's with no run, made once, because its migrations take seconds."""
    path = tmp_path_factory.mktemp("empty") / "state.db"
    ObjectStoreFactory(str(path)).store()
    return path


@pytest.fixture(params=["memory", "file"])
def database(request: pytest.FixtureRequest, tmp_path: Path, empty: Path) -> str:
    return FLWR_IN_MEMORY_DB_NAME if request.param == "memory" else str(shutil.copy(empty, tmp_path / "state.db"))
