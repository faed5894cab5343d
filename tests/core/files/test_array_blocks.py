"""Arrays read a few rows at a time: the same values as at once, and the same refusals."""

import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp_core.files.array_blocks import open_npz
from pfedgp_core.files.regular import MalformedError

IMAGES = np.random.default_rng(0).integers(0, 256, (10, 3, 4), dtype=np.uint8)


def blocks(path: Path, rows: int, name: str = "x") -> list[np.ndarray]:
    with path.open("rb") as file, open_npz(file, {"x", "y"}) as arrays:
        return list(arrays.streams[name].blocks(rows))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("array", [IMAGES, np.asfortranarray(IMAGES), np.arange(10), np.array(["ä", "b"] * 5)])
def test_blocks_are_the_array(save: Any, array: np.ndarray, tmp_path: Path) -> None:
    save(tmp_path / "a.npz", x=array)
    read = blocks(tmp_path / "a.npz", 4)
    assert [len(block) for block in read] == [4, 4, 2]
    np.testing.assert_array_equal(np.concatenate(read), array)


def test_two_arrays_are_read_in_turn(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=IMAGES, y=np.arange(10))
    with (tmp_path / "a.npz").open("rb") as file, open_npz(file, {"x", "y"}) as arrays:
        pairs = list(zip(arrays.streams["x"].blocks(3), arrays.streams["y"].blocks(3), strict=True))
    np.testing.assert_array_equal(np.concatenate([x for x, _ in pairs]), IMAGES)
    np.testing.assert_array_equal(np.concatenate([y for _, y in pairs]), np.arange(10))


@pytest.mark.parametrize("array", [np.empty((0, 3)), np.empty((0,), "U3")])
def test_an_array_without_rows_is_one_block_without_rows(array: np.ndarray, tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=array)
    (block,) = blocks(tmp_path / "a.npz", 4)
    assert block.shape == array.shape


def test_a_single_value_is_a_row(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.int64(7))
    assert [block.tolist() for block in blocks(tmp_path / "a.npz", 4)] == [[7]]


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_changed_byte_is_noticed_at_the_end(save: Any, tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    save(path, x=IMAGES)
    content = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        info = archive.infolist()[0]
    content[info.header_offset + 30 + len(info.filename) + info.compress_size - 8] ^= 1
    path.write_bytes(content)
    with pytest.raises((MalformedError, zipfile.BadZipFile, zlib.error), match=r"CRC|cut|invalid"):
        blocks(path, 3)


def test_a_text_that_is_none_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([0xD800], dtype="<u4").view("<U1"))
    with pytest.raises(MalformedError, match="no characters"):
        blocks(tmp_path / "a.npz", 3)
