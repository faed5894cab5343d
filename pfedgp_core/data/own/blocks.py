"""A site's own data a part at a time, for predictions on more samples than memory holds."""

from collections.abc import Iterator
from pathlib import Path

from pfedgp_core.data.own.array_file import npz_blocks
from pfedgp_core.data.own.array_parts import part_in_archive
from pfedgp_core.data.own.image_folder import image_blocks
from pfedgp_core.data.own.kinds import PARQUET, is_folder, part_of, require_usable
from pfedgp_core.data.own.parquet_table import parquet_blocks
from pfedgp_core.data.own.samples import AS_TOLD, Block, Layout, Samples, Wanted
from pfedgp_core.data.own.tables import csv_blocks
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.regular import open_regular

__all__ = ["read_blocks"]


def read_blocks(
    path: str | Path,
    *,
    input_shape: tuple[int, ...],
    resize: bool = False,
    label_column: str = "label",
    rows: int,
    layout: Layout = AS_TOLD,
) -> Iterator[tuple[Samples, float]]:
    """Read the samples of a path, labelled or not, a part at a time: so memory does not grow with their number.

    Parameters
    ----------
    path, input_shape, resize, label_column, layout
        As in `read_samples`.
    rows : int
        Samples at a time, or fewer where they are large.

    Yields
    ------
    Samples, float
        Without hashes; and the share of the data up to their end, 0 to 1.

    Raises
    ------
    DataError
        There are no such data, or something is wrong with a part of them; the text says with which.
    """
    path = part_of(Path(path).expanduser(), None)
    wanted = Wanted(input_shape, resize, label_column, labelled=False, digests=False, layout=layout)
    before = 0
    for block in _blocks(path, wanted, rows):
        where = f" (beyond the first {before:,} samples)" if before else ""
        samples = require_usable(path, block.samples, block.findings, wanted, where)
        before += len(samples)
        yield samples, block.share


def _blocks(path: Path, wanted: Wanted, rows: int) -> Iterator[Block]:
    if is_folder(path):
        yield from image_blocks(path, wanted, rows)
    elif path.suffix.lower() in PARQUET:
        yield from parquet_blocks(path, wanted, rows)
    else:
        file = part_in_archive(path)[0]
        read = npz_blocks if file.suffix.lower() == ".npz" else csv_blocks
        try:
            with open_regular(file) as opened:
                yield from read(path, opened, wanted, rows)
        except UnreadableFileError as error:
            raise DataError(f"{path} cannot be read ({error.reason}): check the path and its rights.") from error
