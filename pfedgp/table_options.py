"""Options of all verbs that read tables: which columns are features, and how a CSV file is encoded."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pfedgp_core.data.tables.choice import TableChoice

__all__ = ["add_table_options", "site_choice", "table_choice"]


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Declare --columns, --drop, --id-column and --encoding, which `table_choice` reads."""
    group = parser.add_argument_group("tables")
    for option, metavar, text in (
        ("--columns", "A,B", "columns that are features (default: all that are nothing else)"),
        ("--drop", "A,B", "columns that are no features"),
        ("--id-column", "NAME", "column that names the samples, in predictions too, and is no feature"),
        ("--encoding", "NAME", "encoding of a CSV file, where it does not show, such as cp1252"),
    ):
        group.add_argument(option, metavar=metavar, default="", help=text)


def table_choice(args: argparse.Namespace) -> "TableChoice":
    """What the options say; ConfigError where they name a column as a feature and as none."""
    from pfedgp_core.data.tables.choice import TableChoice

    keys = ("columns", "drop", "id_column", "encoding")
    return TableChoice.of({key.replace("_", "-"): getattr(args, key) for key in keys})


def site_choice(args: argparse.Namespace, kept: "TableChoice") -> "TableChoice":
    """The same for new samples of a site: what is not given is as for the site's own, whose other columns may lack."""
    given = table_choice(args)
    if not (given.keep or given.drop or given.id_column):
        return replace(kept, encoding=given.encoding, strict=False)
    return replace(
        given,
        keep=given.keep or tuple(name for name in kept.keep if name not in (*given.drop, given.id_column)),
        drop=given.drop + tuple(name for name in kept.drop if name not in (*given.keep, *given.drop)),
        id_column=given.id_column or (kept.id_column if kept.id_column not in (*given.keep, *given.drop) else ""),
        strict=False,
    )
