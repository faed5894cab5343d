"""A table as it was read, before any rule makes inputs of it: what sites agree on rules by."""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from pfedgp_core.data.own.kinds import PARQUET, given_path, read_path, split_paths
from pfedgp_core.data.own.layout import Layout
from pfedgp_core.data.own.samples import Findings, Wanted
from pfedgp_core.data.tables.raw import RawTable

__all__ = ["ReadTable", "is_table", "read_table"]


class ReadTable(NamedTuple):
    """Features without a rule, and the group of each row where the table has groups."""

    columns: RawTable
    groups: tuple[str, ...] | None


def read_table(path: str | Path, label_column: str, layout: Layout) -> ReadTable | None:
    """All rows of a table; of a path with parts those of ``train``. None where there is no table.

    Raises
    ------
    DataError
        It cannot be read, or lacks a column that somebody names.
    """
    if not is_table(given := given_path(path)):
        return None
    findings = Findings()
    wanted = Wanted(label_column=label_column, digests=False, layout=replace(layout, agrees=True), raw=True)
    read_path((split_paths(given) or {"train": given})["train"], wanted, findings)
    return None if findings.raw is None else ReadTable(findings.raw, findings.groups)


def is_table(path: Path) -> bool:
    """Whether a path, or a part of it, is a table by its name."""
    parts = split_paths(path) or {"": path}
    return any(part.suffix.lower() in (".csv", ".tsv", *PARQUET) for part in parts.values())
