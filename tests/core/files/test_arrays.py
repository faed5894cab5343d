"""Arrays in numpy's files: headers that lie, archives that are cut, locked or bombs, and objects."""

import io
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import psutil
import pytest

from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files import arrays
from pfedgp_core.files.arrays import read_npz


def reason(path: Path) -> str:
    with pytest.raises(UnreadableFileError) as caught:
        read_npz(path, ("x", "y"))
    assert str(path) in str(caught.value)
    return caught.value.reason


def member(header: str, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    length = struct.pack("<H" if version[0] == 1 else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header.encode() + data


def header(shape: str, dtype: str = "'<f8'") -> str:
    return f"{{'descr': {dtype}, 'fortran_order': False, 'shape': {shape}, }}"


def archive(path: Path, content: bytes, name: str = "x.npy") -> Path:
    with zipfile.ZipFile(path, "w") as file:
        file.writestr(name, content)
    return path


def test_arrays_are_read_by_name_in_whatever_case(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / "a.npz", X=np.eye(2), other=np.array([{}], dtype=object), y=[[1, 2]])
    read = read_npz(tmp_path / "a.npz", ("x", "y"))
    assert read.names == ("X", "other", "y")
    assert sorted(read.values) == ["X", "y"]
    np.testing.assert_array_equal(read.values["X"], np.eye(2))
    fortran = np.asfortranarray(np.arange(6).reshape(2, 3))
    np.savez(tmp_path / "b.npz", x=fortran, y=np.empty((0, 3)))
    read = read_npz(tmp_path / "b.npz", ("x", "y"))
    np.testing.assert_array_equal(read.values["x"], fortran)
    assert read.values["y"].shape == (0, 3)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (member(header("(10000000000000,)"), bytes(8)), "does not have the 8 bytes that are there"),
        (member(header("(2,)"), bytes(8)), "does not have the 8 bytes that are there"),
        (member(header("(-1,)")), "has the shape"),
        (member(header("(0, 1000000000000000000)")), "without values has the shape"),
        (member(header("(1000000000000,)", "'<U0'")), "without values has the shape"),
        (member(header("(1,)"), bytes(8), (9, 0)), "version"),
        (member(header("(1,)"), bytes(8), (3, 0)), "version 3.0"),
        (member(header("(1,)", "'|O'"), pickle.dumps([print])), "Python objects"),
        (member(header("(" * 200)), "cannot be parsed"),
        (member(header("(2.5,)")), "shape is not valid"),
        (b"\x93NUMPY", "EOF"),
        (b"", "EOF"),
        (b"PK\x03\x04", "magic"),
    ],
)
def test_headers_that_lie_are_refused_before_memory_is_taken(content: bytes, words: str, tmp_path: Path) -> None:
    assert words in reason(archive(tmp_path / "a.npz", content))


@pytest.mark.parametrize("code", [0x110000, 2**32 - 1, 0xD800])
@pytest.mark.parametrize("order", ["<", ">"])
def test_codes_that_are_no_characters_are_refused(code: int, order: str, tmp_path: Path) -> None:
    content = member(header("(1,)", f"'{order}U1'"), struct.pack(f"{order}I", code))
    assert reason(archive(tmp_path / "a.npz", content)) == "it holds a text with codes that are no characters"
    np.savez(tmp_path / "b.npz", x=np.array([["é", "\U0010ffff"], ["", "ab"]], dtype=f"{order}U2"))
    assert read_npz(tmp_path / "b.npz", "x").values["x"].tolist() == [["é", "\U0010ffff"], ["", "ab"]]


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    np.savez_compressed(tmp_path / "a.npz", x=np.zeros(10**6))
    free = psutil.virtual_memory()._replace(available=10**6)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: free)
    assert reason(tmp_path / "a.npz") == "it takes 8.0 MB of memory, and 1.0 MB are free"


def test_locked_and_cut_archives_are_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.arange(1000))
    content = bytearray((tmp_path / "a.npz").read_bytes())
    (tmp_path / "cut.npz").write_bytes(content[:-30])
    assert reason(tmp_path / "cut.npz") == "it is no zip archive, or cut"
    content[content.find(b"PK\x01\x02") + 8] |= 1
    (tmp_path / "locked.npz").write_bytes(content)
    assert reason(tmp_path / "locked.npz") == "it is encrypted"
    content = bytearray((tmp_path / "a.npz").read_bytes())
    content[2000] ^= 1
    (tmp_path / "flipped.npz").write_bytes(content)
    assert "CRC" in reason(tmp_path / "flipped.npz")


def test_a_single_array_and_two_of_one_name_are_named(tmp_path: Path) -> None:
    with (tmp_path / "one.npz").open("wb") as file:
        np.save(file, np.eye(2))
    assert reason(tmp_path / "one.npz") == "it is a single array"
    target = io.BytesIO()
    np.save(target, np.eye(2))
    with zipfile.ZipFile(tmp_path / "two.npz", "w") as file:
        file.writestr("x.npy", target.getvalue())
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("x.npy", target.getvalue())
    assert reason(tmp_path / "two.npz") == "it holds two arrays of one name"


def test_equal_values_beyond_what_data_are_packed_to_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrays, "_LIGHT", 10**6)
    np.savez_compressed(tmp_path / "bomb.npz", x=np.zeros(10**6))
    assert "unpack to 8.0 MB, as no data do; if they are data, write them with numpy.savez" in reason(
        tmp_path / "bomb.npz"
    )
    np.savez(tmp_path / "plain.npz", x=np.zeros(10**6))
    assert read_npz(tmp_path / "plain.npz", ("x",)).values["x"].size == 10**6


def test_an_array_ends_at_the_size_that_the_archive_tells(tmp_path: Path) -> None:
    """The header and the directory say 8 bytes, and a megabyte is packed."""
    path = archive(tmp_path / "a.npz", member(header("(1,)"), bytes(10**6)))
    content = bytearray(path.read_bytes())
    said = len(member(header("(1,)"), bytes(8)))
    at = content.find(b"PK\x01\x02")
    content[at + 24 : at + 28] = struct.pack("<I", said)
    path.write_bytes(content)
    assert "CRC" in reason(path)


@pytest.mark.parametrize("packing", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_packings_that_numpy_does_not_use_are_refused(packing: int, tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w", packing) as file:
        file.writestr("x.npy", member(header("(1,)"), bytes(8)))
    assert reason(tmp_path / "a.npz") == "it is packed in another way than numpy does"
