"""Vectors beyond the bound on memory lie in a file: the same values and averages to the bit, and no more memory."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError
from pfedgp_core.learning.aggregation import combine
from pfedgp_core.learning.vector_store import VectorStore
from pfedgp_core.methods.uploads import Upload, Uploads, counts_of, vectors_of

NAMES = [f"client-{i:02d}" for i in range(9)]
SIZE = 1000
SENT = np.ones(SIZE, np.float32)


def vectors(n: int = len(NAMES), size: int = SIZE) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.normal(size=size).astype(np.float32) for _ in range(n)]


def stored(folder: Path, in_memory: int) -> VectorStore:
    """A store with all of them, which came in another order than that of the names."""
    store = VectorStore(folder, in_memory)
    for name, vector in reversed(list(zip(NAMES, vectors(), strict=True))):
        store.put(name, vector)
    return store


BOUNDS = {"in memory": 10**6, "some of them": 4 * 4 * SIZE, "in the file": 0}
bounds = pytest.mark.parametrize("in_memory", BOUNDS.values(), ids=BOUNDS)


@bounds
def test_what_was_put_is_there(in_memory: int, tmp_path: Path) -> None:
    store = stored(tmp_path, in_memory)
    assert [store.get(name).tobytes() for name in NAMES] == [v.tobytes() for v in vectors()]


@bounds
def test_a_part_is_that_of_the_whole(in_memory: int, tmp_path: Path) -> None:
    store, part = stored(tmp_path, in_memory), slice(17, 400)
    assert [store.part(name, part).tobytes() for name in NAMES] == [v[part].tobytes() for v in vectors()]


@bounds
def test_a_second_vector_takes_the_place_of_the_first(in_memory: int, tmp_path: Path) -> None:
    store = stored(tmp_path, in_memory)
    store.put(NAMES[2], 2 * SENT)
    assert store.get(NAMES[2]).tobytes() == (2 * SENT).tobytes()
    assert store.get(NAMES[3]).tobytes() == vectors()[3].tobytes()


@bounds
@pytest.mark.parametrize("aggregation", ["uniform", "samples", "median", "trimmed-mean", "nearest"])
def test_every_average_is_the_same_to_the_bit(aggregation: str, in_memory: int, tmp_path: Path) -> None:
    settings, counts = Settings(aggregation=aggregation, trim_share=0.2), list(range(1, 10))
    whole = combine(settings, SENT, vectors(), counts)
    assert combine(settings, SENT, stored(tmp_path, in_memory).of(NAMES), counts).tobytes() == whole.tobytes()


@bounds
def test_uploads_are_what_clients_sent_in_the_order_of_their_names(in_memory: int, tmp_path: Path) -> None:
    counts = {name: i + 1 for i, name in enumerate(NAMES)}
    uploads = Uploads(stored(tmp_path, in_memory), dict.fromkeys(NAMES, SENT), counts)
    plain = [Upload(name, vector, SENT, counts[name]) for name, vector in zip(NAMES, vectors(), strict=True)]
    assert [(u.client, u.vector.tobytes(), u.n_train) for u in uploads] == [
        (u.client, u.vector.tobytes(), u.n_train) for u in plain
    ]
    assert [v.tobytes() for v in vectors_of(uploads[2:4])] == [v.tobytes() for v in vectors_of(plain[2:4])]
    assert counts_of(uploads) == counts_of(plain)


def peak(folder: Path, n: int, size: int = 50_000) -> int:
    """Bytes that a round of `n` vectors takes at most, from the first of them to their mean."""
    tracemalloc.start()
    store, names = VectorStore(folder, 0), [f"client-{i:03d}" for i in range(n)]
    for i, name in enumerate(names):
        store.put(name, np.full(size, i, np.float32))
    combine(Settings(), np.zeros(size, np.float32), store.of(names), [1] * n)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_the_memory_of_a_mean_does_not_grow_with_the_clients(tmp_path: Path) -> None:
    assert peak(tmp_path, 100) < 1.2 * peak(tmp_path, 5)


def test_the_file_has_no_name(tmp_path: Path) -> None:
    store = stored(tmp_path, 0)
    assert list(tmp_path.iterdir()) == []
    store.close()
    assert NAMES[0] not in store


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(ArtefactError, match=r"Cannot write .*gone.*: make room and rights there"):
        stored(tmp_path / "gone", 0)
