"""Rules on which sites agree, from what each tells of the columns of its table; the same for any order of the sites.

* Numbers and dates: a gap is the mean of all sites' values. A site counts with no more than three times the rows of the
  usual one, and with its mean cut to what is usual (`bounded_counts`, `cut_moments`).
* Texts: the values of all sites, in numeric order where all are integers, else in that of the text. Each is an input.
  What no site told, and a gap, is none of them.
* True and false: a gap, and every other text, is what most rows have.
* A column in which a site tells of gaps has one more input that says where they are.
* An input whose name is another's already, or too long for one, is left out, and so are columns for which there is no
  room (`pfedgp_core.data.tables.room`): what one site tells does not end the agreement.

Rules in the settings come first: their columns are in no summary.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from pfedgp_core.bounded_counts import bounded_counts
from pfedgp_core.column_rules import UNKNOWN, ColumnRule, ColumnRules, column_rules, rules_table, rules_text
from pfedgp_core.data.column_names import COLUMN_NAME_LIMIT
from pfedgp_core.data.spec import union_of_classes
from pfedgp_core.data.tables.cells import is_boolean
from pfedgp_core.data.tables.room import crowding_columns
from pfedgp_core.data.tables.summary import NUMBERS, TEXTS, ColumnSummary, TableSummary
from pfedgp_core.data.usual_moments import cut_moments
from pfedgp_core.errors import ConfigError, RunFailedError
from pfedgp_core.names import name_fault
from pfedgp_core.words import cut, few

__all__ = ["agreed_rules", "of_another_kind"]

MOST_VALUES = 500  # texts of a column, of all sites
DIGITS = 6  # of a mean, all that float32 has for sure
_IN_WORDS = {"number": "numbers", "date": "dates", "text": "texts"}


def of_another_kind(tables: Sequence[TableSummary]) -> dict[str, str]:
    """Sites that have another kind of values in a column than most that have any; none where there is no majority.

    Returns
    -------
    dict of str to str
        A reason by the site's name.
    """
    refused: dict[str, str] = {}
    for name, columns in _by_column(tables).items():
        kinds = {site: _family(column) for site, column in columns.items() if _family(column)}
        held = Counter(kinds.values())
        if len(held) < 2 or 2 * max(held.values()) <= len(kinds):
            continue
        usual = max(held, key=held.__getitem__)
        for site, kind in kinds.items():
            if kind != usual:
                refused.setdefault(
                    site,
                    f"{site} has {_IN_WORDS[kind]} in the column {cut(name, 60)!r}, and most sites have "
                    f"{_IN_WORDS[usual]}: write it as they do, or have the run give a rule for it.",
                )
    return refused


def agreed_rules(tables: Sequence[TableSummary], given: str = "") -> str:
    """The rules of a federation, as the setting ``column-rules`` has them.

    Parameters
    ----------
    tables : sequence of TableSummary
        Of all sites, which have the same columns.
    given : str
        Rules of other columns, in the same form.

    Raises
    ------
    RunFailedError
        The sites do not agree what a column is, or there are too many rules.
    """
    tables = sorted(tables, key=lambda table: table.site)
    made, left_out = {}, crowding_columns(tables, given)
    for name, columns in _by_column(tables).items():
        families = {site: _family(column) for site, column in columns.items() if _family(column)}
        if len(set(families.values())) > 1:
            told = few([f"{site}: {_IN_WORDS[kind]}" for site, kind in families.items()])
            raise RunFailedError(
                f"The sites do not agree on the column {cut(name, 60)!r} ({told}): give a rule for it in data.columns."
            )
        made[name] = rule = _rule([columns[site] for site in families if name not in left_out])
        if rule["kind"] != "ignore" and any(column.missing for column in columns.values()):
            rule["indicator"] = True
    try:
        return rules_text(_told_apart(made, column_rules(given)) | rules_table(given))
    except ConfigError as error:
        raise RunFailedError(f"The sites' columns make no rules: {error}") from error


def _told_apart(made: dict[str, dict[str, Any]], given: ColumnRules) -> dict[str, dict[str, Any]]:
    """The rules without inputs that have another's name, or one that no greeting can have; changes `made`."""
    taken = {name for rule in given.rules for name in rule.inputs}
    taken |= {name for name, rule in made.items() if rule["kind"] not in ("category", "ignore")}

    def is_free(name: str) -> bool:
        free = name not in taken and not name_fault(name, COLUMN_NAME_LIMIT)
        taken.add(name)
        return free

    for name, rule in made.items():
        if rule["kind"] == "category":
            unknown, *values = rule["values"]
            values = [value for value in values if is_free(*ColumnRule(name, "category", (unknown, value)).inputs)]
            rule["values"] = [unknown, *values]
            if not values:
                made[name] = {"kind": "ignore"}
                continue
        if rule.get("indicator") and not is_free(ColumnRule(name, "number", indicator=True).inputs[-1]):
            del rule["indicator"]
    return made


def _by_column(tables: Sequence[TableSummary]) -> dict[str, dict[str, ColumnSummary]]:
    """Each column of each site that has it, columns by name."""
    names = sorted({name for table in tables for name in table.columns})
    return {name: {t.site: t.columns[name] for t in tables if name in t.columns} for name in names}


def _family(column: ColumnSummary) -> str:
    """Kinds that one rule can hold; empty of a column without values."""
    if column.kind in NUMBERS:
        return "number"
    return "text" if column.kind in TEXTS else column.kind.replace("empty", "")


def _rule(columns: Sequence[ColumnSummary]) -> dict[str, Any]:
    """The rule of a column, from those of the sites that have values in it."""
    if not columns:
        return {"kind": "ignore"}
    kinds = {column.kind for column in columns}
    if kinds & set(TEXTS):
        return _of_truth(columns) if kinds == {"boolean"} else _of_texts(columns)
    if kinds == {"date"}:
        return {"kind": "date", "missing": _mean(columns)}
    return {"kind": "number", "missing": _mean(columns), "censored": "half"}  # limits may be too few to be told


def _mean(columns: Sequence[ColumnSummary]) -> float:
    means, stds = (np.array([[getattr(column, key)] for column in columns]) for key in ("mean", "std"))
    counts = bounded_counts([column.count for column in columns])
    total = sum(n * Fraction(mean) for n, mean in zip(counts, cut_moments(means, stds)[0][:, 0].tolist(), strict=True))
    return float(f"{float(total / sum(counts)):.{DIGITS}g}")


def _of_truth(columns: Sequence[ColumnSummary]) -> dict[str, Any]:
    counts, votes = bounded_counts([column.count for column in columns]), {"false": Fraction(0), "true": Fraction(0)}
    for weight, column in zip(counts, columns, strict=True):
        for word, n in column.values.items():
            votes["true" if is_boolean(word) else "false"] += Fraction(weight * n, column.count)
    usual = "true" if votes["true"] > votes["false"] else "false"
    return {"kind": "boolean", "missing": usual, "other": usual}


def _of_texts(columns: Sequence[ColumnSummary]) -> dict[str, Any]:
    values = [value for value in union_of_classes(tuple(column.values) for column in columns) if value != UNKNOWN]
    if not 0 < len(values) <= MOST_VALUES:
        return {"kind": "ignore"}
    return {"kind": "category", "values": [UNKNOWN, *values], "other": UNKNOWN, "missing": UNKNOWN}
