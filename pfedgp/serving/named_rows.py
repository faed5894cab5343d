"""Samples in JSON that are objects by the names of columns: the same rules as for a table in CSV."""

from pathlib import Path
from typing import Any

from pfedgp_core.data.column_names import columns_difference
from pfedgp_core.data.own.samples import Findings, Wanted
from pfedgp_core.data.own.table_columns import split_columns
from pfedgp_core.errors import DataError

__all__ = ["rows_by_name"]


def rows_by_name(what: Path, rows: list[Any], wanted: Wanted, findings: Findings) -> list[list[Any]]:
    """Values [N, D] of the rows in the order of the wanted columns, whatever stands in them.

    Parameters
    ----------
    what : Path
        Begins a sentence about the columns.
    rows : list, length N from 1
        The first one is an object; a column of labels is left out.
    wanted : Wanted
        With the columns of a site.
    findings : Findings
        Receives what is wrong.

    Raises
    ------
    DataError
        The site has no names of columns or other ones, or a row has not those of the first.
    """
    columns = wanted.layout.columns
    if columns is None or not columns.names:
        raise DataError("The site has no names of columns: give each sample in 'inputs' as a list of numbers.")
    names, _ = split_columns(what, list(rows[0]), wanted, findings)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataError(f"Sample {number} in 'inputs' is no object as the first is: give all of them by name.")
        if row.keys() != rows[0].keys():
            fault = columns_difference(list(row), list(rows[0]))
            raise DataError(f"Sample {number} in 'inputs' {fault}: give each sample the columns of the first.")
    ordered = [names[i] for i in columns.order(what, names)]
    return [[row[name] for name in ordered] for row in rows]
