"""A draft of the federation's rules from the columns of one site, for people to complete before it is agreed on."""

import json
import math
from collections.abc import Sequence

import numpy as np

from pfedgp_core.data.tables.cells import is_boolean, text_of_number
from pfedgp_core.data.tables.encode import days, limit_of
from pfedgp_core.data.tables.facts import sentinel_values
from pfedgp_core.data.tables.raw import RawTable

__all__ = ["FEWEST", "draft_rules"]

FEWEST = 5  # rows that a text must have to be named in a draft
MOST_VALUES = 50  # texts of a category; a column with more is named, and no feature until somebody decides
HEAD = """# Rules by which columns of tables become inputs: a draft from one site. Complete it with the others (their
# categories and units, what stands for a gap), and give it to the run: pfedgp run --config FILE
"""


def draft_rules(table: RawTable, features: Sequence[str], fewest: int = FEWEST) -> str:
    """The rules as TOML, for each column that is not simply numbers.

    Parameters
    ----------
    table : RawTable
    features : sequence of str
        Columns to draft rules for.
    fewest : int
        Rows that a text must have to be named: fewer could tell of a person.
    """
    drafted = [_rule(table, table.names.index(name), fewest) for name in features]
    return HEAD + "".join(f"\n{text}" for text in drafted if text)


def _rule(table: RawTable, column: int, fewest: int) -> str:
    name, values, texts = table.names[column], table.numbers[:, column], table.texts.get(column)
    levels = np.unique(values[np.isfinite(values)])
    codes = sentinel_values(levels)
    gaps = bool(table.missing(column).any()) or bool(codes)
    words = () if texts is None else texts.values
    lines: list[str] = []
    if not words:
        if not gaps:
            return ""
        lines = _number(values, codes, gaps, "")
    elif not len(levels) and all(is_boolean(word) is not None for word in words):
        lines = ['kind = "boolean"', *(['missing = "false"', "indicator = true"] if gaps else [])]
    elif not len(levels) and all(not math.isnan(days(word)) for word in words):
        median = float(np.median([days(word) for word in words]))
        lines = ['kind = "date"', *([f"missing = {median:g}", "indicator = true"] if gaps else [])]
    elif all(not math.isnan(limit_of(word)) for word in words):
        lines = _number(values, codes, gaps, "half")
    else:
        lines = _category(table, column, fewest, gaps)
    return "\n".join([f"[data.columns.{json.dumps(name, ensure_ascii=False)}]", *lines]) + "\n"


def _number(values: np.ndarray, codes: Sequence[float], gaps: bool, censored: str) -> list[str]:
    known = values[np.isfinite(values) & ~np.isin(values, codes)]
    lines = ['kind = "number"']
    if codes:
        lines.append("codes = [" + ", ".join(text_of_number(code) for code in codes) + "]")
    if censored:
        lines.append(f'censored = "{censored}"  # half of the limit for "<"; or "limit"')
    if gaps and len(known):
        lines += [f"missing = {float(np.median(known)):.4g}  # the median here", "indicator = true"]
    return lines


def _category(table: RawTable, column: int, fewest: int, gaps: bool) -> list[str]:
    texts, values = table.texts[column], table.numbers[:, column]
    counts = dict(zip(texts.values, np.bincount(texts.codes, minlength=len(texts.values)).tolist(), strict=True))
    for number, count in zip(*np.unique(values[np.isfinite(values)], return_counts=True), strict=True):
        counts[text_of_number(float(number))] = int(count)
    common = sorted((word for word, count in counts.items() if count >= fewest), key=lambda word: (-counts[word], word))
    rare = len(counts) - len(common)
    if len(common) < 2 or len(common) > MOST_VALUES:
        if 2 * np.isfinite(values).sum() > len(values):
            return ['kind = "ignore"  # numbers, and texts in a few rows: correct these, and kind = "number" keeps it']
        return ['kind = "ignore"  # texts of which few repeat: an id, or words']
    lines = ['kind = "category"', "values = " + json.dumps(common, ensure_ascii=False)]
    if rare:
        lines.append(
            f"# {rare} of fewer than {fewest} rows are not named here; other = VALUE takes them as one of these"
        )
    return lines + ([f"missing = {json.dumps(common[0], ensure_ascii=False)}", "indicator = true"] if gaps else [])
