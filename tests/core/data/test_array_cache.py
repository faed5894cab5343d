"""Decoded arrays on disk: damaged entries, many writers at once, the folder."""

import threading
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data import array_cache
from pfedgp_core.data.array_cache import cached_arrays


def test_cache_repairs_a_damaged_entry(tmp_path, caplog):
    def build() -> dict[str, np.ndarray]:
        return {"a": np.arange(1000), "b": np.ones(3)}

    cached_arrays("k", ("a", "b"), build, tmp_path)
    (tmp_path / "k" / "a.npy").write_bytes((tmp_path / "k" / "a.npy").read_bytes()[:200])
    again = cached_arrays("k", ("a", "b"), build, tmp_path)
    assert np.array_equal(again["a"], np.arange(1000))
    assert "cannot be read" in caplog.text
    assert isinstance(cached_arrays("k", ("a", "b"), lambda: pytest.fail("built again"), tmp_path)["a"], np.memmap)
    assert [p.name for p in tmp_path.iterdir()] == ["k"], "drafts are left behind"


def test_cache_with_many_writers(tmp_path):
    together = threading.Barrier(6)
    results = []

    def build() -> dict[str, np.ndarray]:
        together.wait(30)
        return {"a": np.arange(50_000)}

    def work() -> None:
        results.append(cached_arrays("k", ("a",), build, tmp_path)["a"])

    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 6
    assert all(np.array_equal(r, np.arange(50_000)) for r in results)
    assert [p.name for p in tmp_path.iterdir()] == ["k"]


def test_cache_folder(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
    assert array_cache.cache_folder() == Path("/somewhere/pfedgp")
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert array_cache.cache_folder() == Path.home() / ".cache" / "pfedgp"
