"""What a site would tell of its columns, as lines for its operator."""

from pfedgp_core.data.tables.cells_that_leave import WITHHELD
from pfedgp_core.data.tables.summary import DATE, EMPTY, NUMBERS, ColumnSummary, TableSummary
from pfedgp_core.words import counted, cut

__all__ = ["told_lines"]

_IN_WORDS = {
    EMPTY: "nothing, as few rows have a value",
    "words": "texts that are too rare or too many to name",
    "text": "texts",
    "boolean": "true and false",
    "limits": "numbers and limits",
    "number": "numbers",
    DATE: "dates",
}


def told_lines(table: TableSummary, floor: int) -> list[str]:
    """A heading and a line a column."""
    head = (
        f"Where sites agree on rules, the server is told of {counted(table.rows, 'row')}, never of fewer than {floor}:"
    )
    return [head, *(f"  {cut(name, 40)}: {_told(column)}" for name, column in table.columns.items())]


def _told(column: ColumnSummary) -> str:
    said = _IN_WORDS[column.kind]
    if column.kind in (*NUMBERS, DATE):
        said += f", mean {column.mean:g}, deviation {column.std:g}"
        said += " (in days since 1970)" if column.kind == DATE else ""
    if column.values:
        rows = (f"{cut(text, 30)} ({n if n != WITHHELD else 'number withheld'})" for text, n in column.values.items())
        said += ": " + ", ".join(rows)
    return said + (f"; {counted(column.missing, 'gap')}" if column.missing and column.kind != EMPTY else "")
