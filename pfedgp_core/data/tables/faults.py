"""Sentences about cells that cannot become inputs: what they are, where, and what to do."""

import difflib
import math
from collections.abc import Sequence

import numpy as np

from pfedgp_core.column_rules import UNKNOWN, ColumnRule
from pfedgp_core.data.tables.encode import Fault, days, limit_of
from pfedgp_core.words import counted, cut, few

__all__ = ["sentences", "unknown_texts"]

_RULE = "leave the column out with --drop, or agree on a rule for it"
REMEDY = f"{_RULE}: pfedgp check-data --rules FILE writes a draft"


def sentences(faults: Sequence[Fault], ids: Sequence[str]) -> list[str]:
    """One sentence for all gaps of columns without rules, and one for each other fault; the first names the command.

    Parameters
    ----------
    faults : sequence of Fault
    ids : sequence of str, length N
        Numbers of the rows.
    """
    said = []
    gaps = [fault for fault in faults if not fault.values and fault.rule is None]
    if gaps:
        rows = np.unique(np.concatenate([fault.rows for fault in gaps]))
        first = next(fault for fault in gaps if rows[0] in fault.rows)
        names = few([repr(cut(fault.column, 60)) for fault in gaps])
        said.append(
            f"Missing or infinite values in {len(rows)} of {counted(len(ids), 'row')} (the first is row "
            f"{ids[rows[0]]}, column {cut(first.column, 60)!r}), in the column{'s' * (len(gaps) > 1)} {names}: fill "
            f"the gaps, remove the rows, {REMEDY}."
        )
    said += [_sentence(fault, ids) for fault in faults if fault.values or fault.rule is not None]
    told = next((i for i, sentence in enumerate(said) if REMEDY in sentence), 0)
    return said[: told + 1] + [sentence.replace(REMEDY, _RULE) for sentence in said[told + 1 :]]


def unknown_texts(faults: Sequence[Fault], ids: Sequence[str]) -> list[str]:
    """A note for each column with texts that sites did not know when they agreed on its rule."""
    return [
        f"The column {cut(fault.column, 60)!r} holds {few([repr(cut(value, 60)) for value in fault.values])} in "
        f"{len(fault.rows)} of {counted(len(ids), 'row')} (the first is row {ids[int(fault.rows[0])]}), which the "
        "federation does not know: taken as "
        + ("unknown." if fault.rule.other == UNKNOWN else f"{fault.rule.other!r}, which most rows are.")
        for fault in faults
        if fault.rule is not None and (fault.rule.other == UNKNOWN or fault.rule.kind == "boolean")
    ]


def _sentence(fault: Fault, ids: Sequence[str]) -> str:
    name = repr(cut(fault.column, 60))
    where = f"{len(fault.rows)} of {counted(len(ids), 'row')}, the first is row {ids[int(fault.rows[0])]}"
    if fault.rule is not None:
        return _broken(fault.rule, fault.values, name, where)
    shown = few([repr(cut(value, 60)) for value in fault.values])
    if all(not math.isnan(days(value)) for value in fault.values):
        return f"Dates in the column {name} ({shown}; {where}): {REMEDY}."
    if all(not math.isnan(limit_of(value)) for value in fault.values):
        return f"Values beyond a limit in the column {name} ({shown}; {where}): write the limit, {REMEDY}."
    if marked := [value for value in fault.values if _has_comma(value)]:
        return (
            f"Something else than numbers with a decimal point in the column {name} ({cut(marked[0], 60)!r}; {where}): "
            "write all numbers of the table in one form."
        )
    return f"Something else than numbers in the column {name} ({shown}; {where}): {REMEDY}."


def _broken(rule: ColumnRule, values: Sequence[str], name: str, where: str) -> str:
    if not values:
        return f"Missing values in the column {name} ({where}), and its rule has no missing: fill them, or add it."
    shown = few([repr(cut(value, 60)) for value in values])
    if rule.values:
        near = difflib.get_close_matches(values[0].casefold(), [value.casefold() for value in rule.values], n=1)
        meant = next((v for v in rule.values if near and v.casefold() == near[0]), None)
        hint = f"did you mean {meant!r}?" if meant else "correct them, or add them to the rule's also or other."
        return f"The rule of the column {name} knows {few(rule.values, 10)}, and not {shown} ({where}): {hint}"
    if rule.kind == "date":
        return f"The column {name} holds {shown} ({where}), which are no dates such as 2024-01-31: write them so."
    limits = not rule.censored and any(not math.isnan(limit_of(value)) for value in values)
    hint = ", or give the rule a censored for limits" if limits else ""
    return f"The rule of the column {name} knows {_range(rule)}, and not {shown} ({where}): check the unit{hint}."


def _range(rule: ColumnRule) -> str:
    low = f" from {rule.low:g}" if math.isfinite(rule.low) else ""
    high = f" up to {rule.high:g}" if math.isfinite(rule.high) else ""
    return f"numbers{low}{high}" + (f" {rule.unit}" if rule.unit else "")


def _has_comma(text: str) -> bool:
    return "," in text and text.replace(",", "", 1).lstrip("+-").isdecimal()
