"""Safetensors files of others: a header that lies is refused with its reason."""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files.regular import MalformedError
from pfedgp_core.files.tensors import parse_tensors, read_tensors

WHOLE = save({"a": np.arange(4, dtype=np.float32), "b": np.zeros(2, np.float32)}, metadata={"k": "v"})
LENGTH = int.from_bytes(WHOLE[:8], "little")


def with_header(change: dict[str, object], claimed: int | None = None) -> bytes:
    header = json.loads(WHOLE[8 : 8 + LENGTH])
    header["a"] |= change
    text = json.dumps(header).encode()
    return (len(text) if claimed is None else claimed).to_bytes(8, "little") + text + WHOLE[8 + LENGTH :]


def test_tensors_and_texts_come_back(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(WHOLE)
    tensors, texts = read_tensors(tmp_path / "a")
    np.testing.assert_array_equal(tensors["a"], np.arange(4, dtype=np.float32))
    assert texts == {"k": "v"}
    assert parse_tensors(WHOLE).keys() == {"a", "b"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"1234567",
        WHOLE[:-1],
        WHOLE + b"x",
        (2**64 - 1).to_bytes(8, "little") + WHOLE[8:],
        (2**40).to_bytes(8, "little") + WHOLE[8:],
        (10).to_bytes(8, "little") + b"[" * 10,
        with_header({"shape": [2**62, 2**62]}),
        with_header({"shape": [-1]}),
        with_header({"shape": [5]}),
        with_header({"dtype": "F99"}),
        with_header({"dtype": "F8_E4M3", "shape": [16]}),
        with_header({"data_offsets": [0, 8]}),
        with_header({"data_offsets": [8, 24]}),
        with_header({"data_offsets": [2**63, 2**63 + 16]}),
        with_header({"data_offsets": None}),
        with_header({}, claimed=3),
    ],
    ids=range(17),
)
def test_headers_that_lie_are_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(content)
    with pytest.raises(UnreadableFileError, match=r"a\.safetensors cannot be read"):
        read_tensors(tmp_path / "a.safetensors")
    with pytest.raises(MalformedError):
        parse_tensors(content)


def test_a_folder_is_no_such_file(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFileError, match="it is a folder"):
        read_tensors(tmp_path)
