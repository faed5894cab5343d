"""Vectors in ``.npz`` with names of columns: taken by name as a table's, whole and in blocks."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.own.blocks import read_blocks
from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.data.own.samples import Layout
from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.errors import DataError

NAMES = ("crp", "age", "bmi")
VALUES = np.random.default_rng(0).normal(size=(7, 3)).astype(np.float32)
LABELS = np.array(["ill", "well"])[np.arange(7) % 2]


def archive(path: Path, columns: object = NAMES, **more: np.ndarray) -> Path:
    np.savez(path, x=VALUES, y=LABELS, columns=np.array(columns), **more)
    return path


def test_a_table_and_an_archive_of_the_same_numbers_are_the_same_samples(tmp_path: Path) -> None:
    rows = [[*(repr(float(v)) for v in row), label] for row, label in zip(VALUES, LABELS, strict=True)]
    (tmp_path / "a.csv").write_text("\n".join(map(",".join, [[*NAMES, "label"], *rows])))
    table, arrays = read_samples(tmp_path / "a.csv"), read_samples(archive(tmp_path / "a.npz"))
    assert arrays.columns == table.columns == NAMES
    np.testing.assert_array_equal(arrays.inputs, table.inputs)
    np.testing.assert_array_equal(arrays.digests, table.digests)  # type: ignore[arg-type]


def test_wanted_columns_come_in_their_order_whole_and_in_blocks(tmp_path: Path) -> None:
    wanted = ("age", "bmi", "crp")
    layout, path = Layout(WantedColumns(wanted)), archive(tmp_path / "a.npz")
    whole = read_samples(path, layout=layout)
    assert whole.columns == wanted
    np.testing.assert_array_equal(whole.inputs, VALUES[:, [1, 2, 0]])
    np.testing.assert_array_equal(whole.digests, read_samples(path).digests)  # type: ignore[arg-type]
    blocks = [block for block, _ in read_blocks(path, input_shape=(3,), rows=2, layout=layout)]
    assert {block.columns for block in blocks} == {wanted}
    np.testing.assert_array_equal(np.concatenate([block.inputs for block in blocks]), whole.inputs)


def test_parts_of_an_archive_have_its_names_or_their_own(tmp_path: Path) -> None:
    parts = {"train_x": VALUES, "train_y": LABELS, "test_x": VALUES, "test_y": LABELS}
    np.savez(tmp_path / "a.npz", **parts, columns=NAMES, test_columns=NAMES[::-1])
    assert read_samples(tmp_path / "a.npz", split="train").columns == NAMES
    assert read_samples(tmp_path / "a.npz", split="test").columns == NAMES[::-1]


def test_other_names_are_refused(tmp_path: Path) -> None:
    layout = Layout(WantedColumns(("age", "bmi", "glucose")))
    with pytest.raises(DataError, match=r"lacks the column 'glucose' and has the column 'crp'.*in 'columns'"):
        read_samples(archive(tmp_path / "a.npz"), layout=layout)


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (NAMES[:2], "inputs with 3 columns and an array 'columns'"),
        ((1, 2, 3), "give it one text for each column"),
        (("age", "crp", " age"), "several columns named 'age'"),
        (("age", "", "crp"), "a column without a name"),
    ],
)
def test_names_that_are_none_are_refused(columns: tuple[object, ...], said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read_samples(archive(tmp_path / "a.npz", columns))


def test_images_have_no_columns(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((2, 8, 8), np.uint8), y=[0, 1], columns=["a", "b"])
    assert read_samples(tmp_path / "a.npz").columns == ()
