"""The columns of the sites' tables by name: one order for all, and sites that have other columns."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from pfedgp_core.data.column_names import column_order, columns_difference, is_hashed
from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.hello import Hello
from pfedgp_core.words import few

__all__ = [
    "aligned",
    "columns_misfit",
    "columns_text",
    "refuse_other_columns",
    "unnamed",
    "usual_columns",
    "with_other_columns",
]

SHOWN = 20  # columns in a log line


def usual_columns(hellos: Sequence[Hello]) -> tuple[str, ...]:
    """The columns that most sites name, in the order that most of these have; of equally many that of the first site.

    Empty where no site names its columns.
    """
    named = [hello.columns for hello in hellos if hello.columns]
    if not named:
        return ()
    usual = Counter(map(frozenset, named)).most_common(1)[0][0]
    return Counter(columns for columns in named if frozenset(columns) == usual).most_common(1)[0][0]


def aligned(hello: Hello, columns: tuple[str, ...]) -> Hello:
    """A site's greeting with its columns, and the moments of these, in the federation's order.

    One without names, or with other columns, stays as it is.
    """
    if hello.columns == columns or not columns or set(hello.columns) != set(columns):
        return hello
    order = column_order(hello.columns, columns)
    mean, std = (tuple(values[i] for i in order) for values in (hello.mean, hello.std))
    return replace(hello, columns=columns, mean=mean, std=std)


def columns_misfit(hello: Hello, columns: tuple[str, ...]) -> str:
    """Say which columns a site lacks or has beside those of the federation; empty where none, or one has no names."""
    fault = columns_difference(hello.columns, columns) if hello.columns and columns else ""
    if not fault:
        return ""
    mine, expected = set(hello.columns), set(columns)
    if mine < expected:
        remedy = "give it a table that has them, or have all sites leave them out (--drop)"
    elif mine > expected:
        remedy = "leave them out there (--drop), or give all sites' tables these columns"
    else:
        remedy = "name its columns as the other sites do, or have all sites send names in one form (column-key)"
    return f"{hello.name} {fault}: {remedy}."


def with_other_columns(hellos: Sequence[Hello]) -> dict[str, str]:
    """Find sites whose columns are not those of most sites that name them; none where there is no such majority.

    Returns
    -------
    dict of str to str
        A reason by the site's name.
    """
    named = [hello for hello in hellos if hello.columns]
    usual = usual_columns(named)
    if 2 * sum(set(hello.columns) == set(usual) for hello in named) <= len(named):
        return {}
    return {hello.name: reason for hello in named if (reason := columns_misfit(hello, usual))}


def refuse_other_columns(hellos: Sequence[Hello]) -> None:
    """Raise RunFailedError where sites that are to begin together name different columns."""
    columns = usual_columns(hellos)
    if told := {hello.name: reason for hello in hellos if (reason := columns_misfit(hello, columns))}:
        raise RunFailedError(f"The sites' tables have different columns: {next(iter(told.values()))}", told)


def unnamed(hellos: Sequence[Hello], columns: tuple[str, ...]) -> str:
    """Say whose columns go by their position because they have no names; empty where nobody's."""
    without = [hello.name for hello in hellos if hello.own_data and len(hello.input_shape) == 1 and not hello.columns]
    if not without:
        return ""
    order = f" in the order {columns_text(columns)}" if columns else ""
    return (
        f"no names of columns from {few(without)}: taken by position, so these sites must have the same features as "
        f"the others{order}"
    )


def columns_text(columns: Sequence[str]) -> str:
    """The columns for a log line; hashes say nothing and are counted."""
    return f"{len(columns)}, names hashed by the sites" if is_hashed(columns) else few(columns, SHOWN)
