"""Tables in Parquet, where the package pyarrow is installed."""

import importlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.data.own.samples import Block, Findings, Samples, Wanted, label_texts
from pfedgp_core.data.own.table_columns import Marks, split_columns, usable_rows
from pfedgp_core.data.tables.raw import raw_table
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError, decoding, open_regular
from pfedgp_core.words import cut

__all__ = ["load_parquet", "parquet_blocks"]

CELL = 100  # bytes of memory that a value of a table takes while it is read
_TEXTS = ("string", "large_string", "binary", "large_binary")
PIECE = 2**20  # bytes of the file at a time, of each column


def load_parquet(path: Path, wanted: Wanted, findings: Findings) -> Samples | None:
    """Read a Parquet file with pyarrow, a row per sample; see `load_csv`.

    Raises
    ------
    DataError
        The library is not installed, or the file is damaged.
    """
    findings.kind = "Parquet table"
    for table, _, _ in _read(path, None):
        return _samples(path, table, 0, wanted, findings)
    return None


def parquet_blocks(path: Path, wanted: Wanted, rows: int) -> Iterator[Block]:
    """Read the same so many rows at a time. Raises as `load_parquet`, when the damage is reached."""
    for table, first, share in _read(path, rows):
        findings = Findings("Parquet table")
        yield Block(_samples(path, table, first, wanted, findings), findings, share)


def _samples(path: Path, table: dict[str, list[Any]], first: int, wanted: Wanted, findings: Findings) -> Samples | None:
    roles = split_columns(path, list(table), wanted, findings)
    if not roles.features:
        return None
    rows = len(next(iter(table.values())))
    marks = Marks(*(_texts(table, name) for name in (roles.label, roles.id_column, roles.group)))
    raw = raw_table({name: table[name] for name in roles.read}, [str(first + i + 1) for i in range(rows)])
    return usable_rows(raw, marks, roles, wanted, findings)


def _texts(table: dict[str, list[Any]], name: str | None) -> tuple[str, ...] | None:
    return None if name is None else label_texts(np.asarray(table[name], dtype=object))


def _read(path: Path, rows: int | None) -> Iterator[tuple[dict[str, list[Any]], int, float]]:
    """Columns of all rows, or of so many at a time; the rows before them, and the share of the file up to their end."""
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(
            f"{path} is Parquet, which needs the package pyarrow: run pip install pyarrow, or save the table as CSV."
        ) from None
    try:
        with (
            open_regular(path) as opened,
            decoding(path),
            parquet.ParquetFile(opened, buffer_size=PIECE, pre_buffer=False) as file,
        ):
            about = file.metadata
            _require_flat(file.schema)
            require_free(_unpacked(about, rows))
            kinds = {field.name: str(field.type) for field in file.schema_arrow}
            if len(kinds) < len(file.schema_arrow.names):
                raise MalformedError("it has two columns of one name")
        texts = [name for name, kind in kinds.items() if kind in _TEXTS]
        with (
            open_regular(path) as opened,
            decoding(path),
            parquet.ParquetFile(opened, buffer_size=PIECE, pre_buffer=False, read_dictionary=texts) as file,
        ):
            # Its threads can outlive the reading, and then end the process with them.
            if rows is None or not about.num_rows:
                yield _cells(file.read(use_threads=False)), 0, 1.0
                return
            first = 0
            for batch in file.iter_batches(rows, use_threads=False):
                following = first + batch.num_rows
                yield _cells(batch), first, min(1.0, following / about.num_rows)
                first = following
    except UnreadableFileError as error:
        raise DataError(
            f"{path} cannot be read as Parquet ({error.reason}): write it again, or save it as CSV."
        ) from error


def _require_flat(schema: Any) -> None:
    """Raise MalformedError where a column has lists: how many values they hold, no number of rows says."""
    for column in map(schema.column, range(len(schema))):
        if column.max_repetition_level:
            raise MalformedError(f"its column {cut(column.path.partition('.')[0], 60)!r} holds lists")


def _unpacked(metadata: Any, rows: int | None) -> int:
    """Bytes of memory that a table takes, or so many rows of it: a few of its own may stand for billions of values.

    Asking for what a row group says of one column would end the process where that is damaged: pyarrow 26 lets the C++
    exception through.
    """
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    values: int = sum(max(int(group.num_rows), 0) for group in groups) * int(metadata.num_columns)
    if rows is None:
        return values * CELL + sum(max(int(group.total_byte_size), 0) for group in groups)
    return values * CELL * min(rows, int(metadata.num_rows)) // max(int(metadata.num_rows), 1)


def _cells(table: Any) -> dict[str, list[Any]]:
    """The columns of Arrow. A text is there once however often it occurs, or a few would fill all memory."""
    columns: dict[str, list[Any]] = {}
    for name, column in zip(table.schema.names, table.columns, strict=True):
        cells = columns.setdefault(name, [])
        for chunk in getattr(column, "chunks", [column]):
            if hasattr(chunk, "dictionary"):
                values = chunk.dictionary.to_pylist()
                cells += [None if i is None else values[i] for i in chunk.indices.to_pylist()]
            else:
                cells += chunk.to_pylist()
    return columns
