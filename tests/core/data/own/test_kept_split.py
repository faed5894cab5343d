"""The kept split: shares, growth, equal inputs, order, and a file that is damaged."""

import hashlib
import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.own.kept_split import PARTS, assign_parts, keep_split, rows_by_part
from pfedgp_core.errors import ArtefactError


def digests(n: int, start: int = 0) -> list[str]:
    return [hashlib.sha256(str(i).encode()).hexdigest() for i in range(start, start + n)]


def test_each_class_is_shared_out_60_20_20() -> None:
    classes = ["cat"] * 50 + ["dog"] * 25 + ["eel"] * 3 + ["fox"]
    parts = assign_parts(digests(79), classes)
    counts = {name: Counter(p for p, c in zip(parts, classes, strict=True) if c == name) for name in set(classes)}
    assert counts["cat"] == {"train": 30, "validation": 10, "test": 10}
    assert counts["dog"] == {"train": 15, "validation": 5, "test": 5}
    assert counts["eel"] == {"train": 2, "validation": 1}
    assert counts["fox"] == {"train": 1}


def test_neither_order_nor_names_of_files_matter() -> None:
    keys, classes = digests(40), ["cat", "dog"] * 20
    order = np.random.default_rng(0).permutation(40)
    straight = dict(zip(keys, assign_parts(keys, classes), strict=True))
    shuffled = assign_parts([keys[i] for i in order], [classes[i] for i in order])
    assert [straight[keys[i]] for i in order] == shuffled


def test_equal_inputs_share_a_part_whatever_their_label() -> None:
    keys = digests(30) + digests(30)
    parts = assign_parts(keys, ["cat"] * 30 + ["dog"] * 30)
    assert parts[:30] == parts[30:]
    assert Counter(parts[:30]) == {"train": 18, "validation": 6, "test": 6}


def test_data_that_grow_move_no_sample(tmp_path: Path) -> None:
    file = tmp_path / "state" / "split.json"
    file.parent.mkdir()
    first = keep_split(file, digests(20), ["cat"] * 20)
    before = file.read_bytes()
    assert keep_split(file, digests(20), ["cat"] * 20) == first
    assert file.read_bytes() == before
    grown = keep_split(file, digests(50), ["cat"] * 50)
    assert grown[:20] == first
    assert Counter(grown) == {"train": 30, "validation": 10, "test": 10}
    # Samples that were away keep their part.
    keep_split(file, digests(30, 20), ["cat"] * 30)
    assert keep_split(file, digests(50), ["cat"] * 50) == grown


def test_rows_by_part_cover_everything_once() -> None:
    rows = rows_by_part(["test", "train", "train"])
    assert [rows[part].tolist() for part in PARTS] == [[1, 2], [], [0]]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "damaged (it is no JSON: Expecting value"),
        (b"[]", "damaged (it is no object)"),
        (b"{}", "holds something else"),
        (b"[" * 10_000, "damaged (it is nested too deep)"),
        (b'{"format": "pfedgp-split", "schema_version": 9}', "schema version 9"),
        (b'{"format": "pfedgp-split", "schema_version": 1}', "a part is missing"),
    ],
)
def test_a_damaged_file_is_never_drawn_anew(content: bytes, expected: str, tmp_path: Path) -> None:
    file = tmp_path / "split.json"
    file.write_bytes(content)
    with pytest.raises(ArtefactError) as caught:
        keep_split(file, digests(5), ["cat"] * 5)
    assert expected in str(caught.value)
    assert file.read_bytes() == content


def test_a_sample_moved_by_hand_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "split.json"
    keep_split(file, digests(5), ["cat"] * 5)
    about = json.loads(file.read_text())
    about["samples"]["train"].append(about["samples"]["test"].pop())
    file.write_text(json.dumps(about))
    with pytest.raises(ArtefactError, match="changed after it was written"):
        keep_split(file, digests(5), ["cat"] * 5)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file")
    with pytest.raises(ArtefactError, match="state"):
        keep_split(tmp_path / "state" / "split.json", digests(5), ["cat"] * 5)
