"""A site's data a part at a time: the samples of `read_samples`, and a fault says where it is."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.own.blocks import read_blocks
from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.errors import DataError
from tests.data_files import IMAGES, folder

TABLE = np.round(np.random.default_rng(1).normal(size=(10, 3)), 3)
LABELS = ["a", "b"] * 5


def csv(path: Path, table: np.ndarray = TABLE) -> Path:
    lines = ["u,v,w,label", *(",".join([*map(repr, r), n]) for r, n in zip(table.tolist(), LABELS, strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def npz(path: Path, table: np.ndarray = TABLE) -> Path:
    np.savez_compressed(path, x=table, y=np.array([0, 1] * 5), class_names=["a", "b"])
    return path


def parquet(path: Path, table: np.ndarray = TABLE) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {name: table[:, i] for i, name in enumerate("uvw")} | {"label": LABELS}
    parquet.write_table(pyarrow.table(columns), path, row_group_size=4)
    return path


WRITERS = pytest.mark.parametrize(("write", "name"), [(csv, "a.csv"), (npz, "a.npz"), (parquet, "a.parquet")])


@WRITERS
@pytest.mark.parametrize("rows", [1, 3, 10, 64])
def test_blocks_of_a_table_are_the_table(write: Callable[..., Path], name: str, rows: int, tmp_path: Path) -> None:
    path = write(tmp_path / name)
    whole = read_samples(path, labelled=False)
    parts = [samples for samples, _ in read_blocks(path, input_shape=(3,), rows=rows)]
    assert all(len(part) <= rows for part in parts)
    np.testing.assert_array_equal(np.concatenate([part.inputs for part in parts]), whole.inputs)
    assert tuple(one for part in parts for one in part.ids) == whole.ids
    assert tuple(one for part in parts for one in part.labels or ()) == whole.labels
    assert {part.columns for part in parts} == {whole.columns}


@pytest.mark.parametrize("rows", [1, 4, 64])
def test_blocks_of_a_folder_are_the_folder(rows: int, tmp_path: Path) -> None:
    folder(tmp_path / "images")
    options = {"input_shape": (1, 4, 4), "resize": True}
    whole = read_samples(tmp_path / "images", labelled=False, **options)  # type: ignore[arg-type]
    parts = [s for s, _ in read_blocks(tmp_path / "images", rows=rows, **options)]  # type: ignore[arg-type]
    np.testing.assert_array_equal(np.concatenate([part.inputs for part in parts]), whole.inputs)
    assert tuple(one for part in parts for one in part.ids) == whole.ids


def test_blocks_of_images_in_an_archive_are_the_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", images=IMAGES)
    whole = read_samples(tmp_path / "a.npz", labelled=False)
    parts = [samples.inputs for samples, _ in read_blocks(tmp_path / "a.npz", input_shape=(1, 8, 6), rows=4)]
    np.testing.assert_array_equal(np.concatenate(parts), whole.inputs)


@WRITERS
def test_the_share_grows_to_one(write: Callable[..., Path], name: str, tmp_path: Path) -> None:
    shares = [share for _, share in read_blocks(write(tmp_path / name), input_shape=(3,), rows=4)]
    assert shares == sorted(shares)
    assert shares[-1] == 1


@WRITERS
def test_a_gap_is_named_with_its_row(write: Callable[..., Path], name: str, tmp_path: Path) -> None:
    gap = TABLE.copy()
    gap[7, 1] = np.nan
    blocks = read_blocks(write(tmp_path / name, gap), input_shape=(3,), rows=4)
    assert len(next(blocks)[0]) == 4
    with pytest.raises(DataError, match=r"\(beyond the first 4 samples\): .* row 8"):
        next(blocks)


@WRITERS
def test_another_shape_is_refused(write: Callable[..., Path], name: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the model takes inputs of shape 5"):
        next(read_blocks(write(tmp_path / name), input_shape=(5,), rows=4))


@pytest.mark.parametrize(
    ("name", "content"), [("a.csv", b"u,v,w\n"), ("a.npz", b"PK"), ("a.npz", b""), ("a.csv", b""), ("a.parquet", b"P")]
)
def test_what_holds_no_samples_is_refused(name: str, content: bytes, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match=rf"{name}"):
        list(read_blocks(tmp_path / name, input_shape=(3,), rows=4))


def test_a_folder_with_splits_and_nothing_at_all_are_named(tmp_path: Path) -> None:
    csv(tmp_path / "train.csv")
    with pytest.raises(DataError, match="has the splits train"):
        next(read_blocks(tmp_path, input_shape=(3,), rows=4))
    with pytest.raises(DataError, match="nothing at"):
        next(read_blocks(tmp_path / "none.csv", input_shape=(3,), rows=4))


def test_an_archive_that_unpacks_to_more_than_it_may_is_refused(tmp_path: Path) -> None:
    from pfedgp_core.data.own.array_file import npz_blocks
    from pfedgp_core.data.own.samples import Wanted

    with npz(tmp_path / "a.npz").open("rb") as file:
        blocks = npz_blocks(Path("a.npz"), file, Wanted(labelled=False), 4, most=100)
        with pytest.raises(DataError, match=r"unpacks to .* more than 100 B"):
            next(blocks)
