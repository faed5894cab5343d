"""Tables with a row per sample: CSV, and Parquet where a library for it is installed.

All columns but that of the labels are features, in the order of the file. A row that cannot be used is left out and
noted.
"""

import csv
import importlib
import io
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.data.own.samples import Findings, Samples, Wanted, input_digests, label_texts
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.memory import require_memory
from pfedgp_core.files.regular import MalformedError, decoding, open_regular
from pfedgp_core.words import counted, cut, few

__all__ = ["load_csv", "load_parquet"]

_SEPARATORS = ",;\t"
_MISSING = ("", "na", "n/a", "nan", "null", "none")
LONGEST_LINE = 16 * 1024 * 1024  # characters of the line of column names
CELL = 100  # bytes of memory that a value of a table takes while it is read


def load_csv(path: Path, wanted: Wanted, findings: Findings) -> Samples | None:
    """Read a CSV file in UTF-8 with one line of column names; separated by commas, semicolons or tabs.

    Returns
    -------
    Samples or None
        float32 [N, D]; None where nothing is usable.

    Raises
    ------
    DataError
        The file cannot be read as a table at all.
    """
    findings.kind = "CSV table"
    try:
        with open_regular(path) as raw, decoding(path), io.TextIOWrapper(raw, "utf-8-sig", newline="") as file:
            first = file.readline(LONGEST_LINE)
            if len(first) == LONGEST_LINE:
                raise MalformedError("its first line has no end")
            file.seek(0)
            rows = csv.reader(file, delimiter=max(_SEPARATORS, key=first.count))
            columns = [name.strip() for name in next(rows, [])]
            features, label = _split_columns(path, columns, wanted, findings)
            return _read_rows(rows, columns, features, label, wanted, findings)
    except UnreadableFileError as error:
        raise DataError(
            f"{path} cannot be read as CSV ({error.reason}): check its rights, or save it again as 'CSV UTF-8'."
        ) from error


def load_parquet(path: Path, wanted: Wanted, findings: Findings) -> Samples | None:
    """Read a Parquet file with pyarrow; see `load_csv`.

    Raises
    ------
    DataError
        The library is not installed, or the file is damaged.
    """
    findings.kind = "Parquet table"
    table = _parquet_columns(path)
    features, label = _split_columns(path, list(table), wanted, findings)
    if not features:
        return None
    labels = None if label is None else label_texts(np.asarray(table[label], dtype=object))
    matrix = np.empty((len(next(iter(table.values()))), len(features)), dtype=np.float64)
    for i, name in enumerate(features):
        try:
            matrix[:, i] = np.array([math.nan if v is None else v for v in table[name]], dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            findings.problem(
                f"The column {cut(name, 60)!r} holds something else than numbers: leave it out, or code it as numbers."
            )
            return None
    return _usable(matrix, labels, features, [str(i + 1) for i in range(len(matrix))], wanted, findings)


def _split_columns(path: Path, columns: list[str], wanted: Wanted, findings: Findings) -> tuple[list[str], str | None]:
    """Names of the features, and of the column of labels if there is one."""
    repeated = sorted(name for name, count in Counter(columns).items() if count > 1)
    if repeated:
        raise DataError(f"{path} has several columns named {few(repeated)}: give each column its own name.")
    label = wanted.label_column if wanted.label_column in columns else None
    if label is None and wanted.labelled:
        raise DataError(
            f"{path} has no column {wanted.label_column!r} for the classes, but {few(columns, 10) or 'none at all'}: "
            "name it with --label-column."
        )
    features = [name for name in columns if name != label]
    if not features:
        findings.problem("The table has no column beside the label: give at least one feature.")
    return features, label


def _read_rows(
    rows: Iterator[list[str]],
    columns: list[str],
    features: list[str],
    label: str | None,
    wanted: Wanted,
    findings: Findings,
) -> Samples | None:
    position = None if label is None else columns.index(label)
    numbers: list[list[float]] = []
    labels, ids, ragged, texts = [], [], [], []
    for number, row in enumerate((r for r in rows if r), start=1):
        if len(row) != len(columns):
            ragged.append(f"row {number} has {len(row)}")
            continue
        given = "" if position is None else row.pop(position).strip()
        try:
            values = [math.nan if cell.strip().lower() in _MISSING else float(cell) for cell in row]
        except ValueError:
            wrong = next(i for i, cell in enumerate(row) if not _is_number(cell))
            texts.append(f"{cut(row[wrong], 60)!r} in row {number}, column {cut(features[wrong], 60)!r}")
            continue
        numbers.append(values)
        labels.append("" if given.lower() in ("nan", "null") else given)
        ids.append(str(number))
    if ragged:
        findings.problem(f"The header names {len(columns)} columns, but {few(ragged)}: save the table again.")
    if texts:
        findings.problem(
            f"Something else than numbers in {counted(len(texts), 'row')} ({few(texts)}): write numbers with a decimal "
            "point, and leave out columns of text."
        )
    matrix = np.array(numbers, dtype=np.float64).reshape(len(numbers), len(features))
    return _usable(matrix, None if label is None else tuple(labels), features, ids, wanted, findings)


def _usable(
    matrix: np.ndarray,
    labels: tuple[str, ...] | None,
    features: list[str],
    ids: list[str],
    wanted: Wanted,
    findings: Findings,
) -> Samples | None:
    """Samples of the rows that have all numbers, and a label if one is wanted."""
    with np.errstate(over="ignore"):
        inputs = matrix.astype(np.float32)
    finite = np.asarray(np.isfinite(inputs).all(axis=1))
    good = finite.copy()
    if not finite.all():
        row = int((~finite).argmax())
        column = features[int((~np.isfinite(inputs[row])).argmax())]
        findings.problem(
            f"Missing or infinite values in {int((~finite).sum())} of {counted(len(finite), 'row')} (the first is row "
            f"{ids[row]}, column {cut(column, 60)!r}): fill the gaps or remove the rows."
        )
    if labels is not None and wanted.labelled:
        named = np.array([bool(text) for text in labels], dtype=bool)
        if not named.all():
            findings.problem(
                f"No class in {int((~named).sum())} of {counted(len(named), 'row')} (the first is row "
                f"{ids[int((~named).argmax())]}): fill the column {wanted.label_column!r} or remove the rows."
            )
        good &= named
    if not len(inputs) and not findings.problems:
        findings.problem("The table has no row: give at least one sample.")
    rows = np.flatnonzero(good).tolist()
    if not rows or not features:
        return None
    kept = None if labels is None else tuple(labels[i] for i in rows)
    chosen = inputs[rows]
    return Samples(chosen, tuple(ids[i] for i in rows), kept, tuple(features), input_digests(chosen))


def _parquet_columns(path: Path) -> dict[str, list[Any]]:
    try:
        parquet = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(
            f"{path} is Parquet, which needs the package pyarrow: run pip install pyarrow, or save the table as CSV."
        ) from None
    try:
        with open_regular(path) as opened, decoding(path), parquet.ParquetFile(opened) as file:
            # A few bytes may stand for billions of equal values.
            require_memory(file.metadata.num_rows * file.metadata.num_columns * CELL)
            if len(set(file.schema_arrow.names)) < len(file.schema_arrow.names):
                raise MalformedError("it has two columns of one name")
            # Its threads can outlive the reading, and then end the process with them.
            return dict(file.read(use_threads=False).to_pydict())
    except UnreadableFileError as error:
        raise DataError(
            f"{path} cannot be read as Parquet ({error.reason}): write it again, or save it as CSV."
        ) from error


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return cell.strip().lower() in _MISSING
    return True
