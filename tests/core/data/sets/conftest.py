"""Every test decodes images into a folder of its own, and loads data sets anew."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pfedgp_core.data import datasets


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    datasets._load.cache_clear()
    yield
    datasets._load.cache_clear()
