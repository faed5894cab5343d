"""IDX files: what is read, and what a damaged one says."""

import gzip
import hashlib
from pathlib import Path

import numpy as np
import psutil
import pytest

from pfedgp_core.errors import MissingFileError, UnreadableFileError
from pfedgp_core.files.idx import read_idx
from tests.image_files import idx_bytes

ARRAY = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


@pytest.mark.parametrize("array", [ARRAY, ARRAY.ravel(), np.zeros((0, 5), np.uint8)])
def test_an_array_is_as_it_was(tmp_path: Path, array: np.ndarray) -> None:
    path = tmp_path / "a"
    path.write_bytes(idx_bytes(array))
    assert np.array_equal(read_idx(path), array)


def test_a_packed_file_with_the_right_checksum(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(idx_bytes(ARRAY)))
    assert np.array_equal(read_idx(path, hashlib.md5(path.read_bytes()).hexdigest()), ARRAY)


def test_torchvision_reads_the_same(tmp_path: Path) -> None:
    from torchvision.datasets.mnist import read_sn3_pascalvincent_tensor

    path = tmp_path / "a"
    path.write_bytes(idx_bytes(ARRAY))
    assert np.array_equal(read_idx(path), read_sn3_pascalvincent_tensor(str(path)).numpy())


WHOLE = idx_bytes(ARRAY)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no IDX file"),
        (b"hello, world", "no IDX file"),
        (b"\0\0\x0d\x01" + WHOLE[4:], "no IDX file of bytes"),
        (WHOLE[:9], "it is cut"),
        (WHOLE[:-1], "it is cut: of 24 B there are 23 B"),
        (WHOLE + b"x", "goes on after"),
        (b"\0\0\x08\x03" + b"\xff" * 12, "more than it can hold"),
    ],
    ids=["empty", "text", "another-type", "half-a-header", "a-byte-less", "a-byte-more", "huge"],
)
def test_a_damaged_file_says_what_it_is(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a"
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=reason):
        read_idx(path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (gzip.compress(WHOLE)[:-9], "it is cut"),
        (gzip.compress(WHOLE[:-1]), "it is cut: of 24 B there are 23 B"),
        (gzip.compress(WHOLE)[:-8] + b"\0" * 8, "CRC"),
        (WHOLE, "gzip"),
        (gzip.compress(b"\0\0\x08\x03" + b"\xff" * 12), "more than it can hold"),
    ],
    # gzip writes the time into its bytes, and workers that collect in different seconds must see the same names
    ids=["cut", "a-byte-less", "another-checksum", "not-packed", "huge"],
)
def test_a_damaged_packed_file_says_what_it_is(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(content)
    with pytest.raises(UnreadableFileError, match=reason):
        read_idx(path)


def test_another_checksum_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(gzip.compress(WHOLE))
    with pytest.raises(UnreadableFileError, match=r"its checksum is [0-9a-f]{32}, and that of the published file abc"):
        read_idx(path, "abc")


def test_an_array_beyond_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(WHOLE)
    memory = psutil.virtual_memory()._replace(available=10)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    with pytest.raises(UnreadableFileError, match="of memory"):
        read_idx(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFileError):
        read_idx(tmp_path / "none")
