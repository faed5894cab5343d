"""Samples in JSON that are objects by the names of columns: the same rules as for a table in CSV."""

from pathlib import Path
from typing import Any

from pfedgp_core.column_rules import column_rules
from pfedgp_core.data.column_names import columns_difference
from pfedgp_core.data.own.samples import Findings, Samples, Wanted
from pfedgp_core.data.own.table_columns import Marks, split_columns, usable_rows
from pfedgp_core.data.tables.raw import raw_table
from pfedgp_core.errors import DataError
from pfedgp_core.words import cut

__all__ = ["rows_by_name"]


def rows_by_name(what: Path, rows: list[Any], wanted: Wanted, findings: Findings) -> Samples | None:
    """The samples of the rows, with their inputs in the order of the wanted ones; None where nothing is usable.

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
        The site has no names of columns or other ones, a row has not those of the first, or a value without a rule is
        no number.
    """
    columns = wanted.layout.columns
    if columns is None or not columns.names:
        raise DataError("The site has no names of columns: give each sample in 'inputs' as a list of numbers.")
    roles = split_columns(what, list(rows[0]), wanted, findings)
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, dict):
            raise DataError(f"Sample {number} in 'inputs' is no object as the first is: give all of them by name.")
        if row.keys() != rows[0].keys():
            fault = columns_difference(list(row), list(rows[0]))
            raise DataError(f"Sample {number} in 'inputs' {fault}: give each sample the columns of the first.")
    rules = column_rules(wanted.layout.rules or "")
    for name in roles.features:
        if rules.of(name) is None and not all(isinstance(row[name], int | float) for row in rows):
            raise DataError(
                f"The column {cut(name, 60)!r} in 'inputs' holds something else than numbers: give numbers alone, or "
                "true and false."
            )
    table = raw_table({name: [row[name] for row in rows] for name in roles.read}, [*map(str, range(1, len(rows) + 1))])
    return usable_rows(table, Marks(), roles, wanted, findings)
