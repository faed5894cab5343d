"""A table with a row per person and a column for the site, as a data set: how columns become inputs.

The rules are the same for all tables. A row without its site or its target is dropped. A column of numbers is an input
as it is; where a number is missing it is the median of the training rows of all sites. A column of texts has its levels
listed; each but the first is an input that is 1 where the row has this level and 0 elsewhere. A column in which
something is missing has one more input, 1 where it is missing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.partitions.sites import Sites, split_inside
from pfedgp_core.data.samples import SPLIT_SEED, Dataset, Split
from pfedgp_core.errors import DataError
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.words import cut

__all__ = ["Column", "site_table"]

Table = Mapping[str, Sequence[Any]]


@dataclass(frozen=True)
class Column:
    """An input of the table.

    Attributes
    ----------
    name : str
    levels : tuple of str
        Its texts, the first of which is the base; empty for a column of numbers.
    """

    name: str
    levels: tuple[str, ...] = ()


def site_table(
    name: str,
    table: Table,
    site: tuple[str, str],
    inputs: Sequence[Column],
    target: Sequence[int | None],
    class_names: tuple[str, ...],
) -> Dataset:
    """Make a data set of a table.

    The rows of each site are split 60 / 20 / 20, the same ones for every seed of a run (`split_inside`).

    Parameters
    ----------
    name : str
        Of the data set.
    table : mapping of str to sequence
        Values by column; None is missing.
    site : tuple of two str
        The column that holds the site, and what a site is called: its name is that and what the column holds.
    inputs : sequence of Column
    target : sequence of int or None
        The class of each row.
    class_names : tuple of str

    Raises
    ------
    DataError
        A value that is no number, or a text that is not among the levels.
    """
    column, called = site
    rows = [i for i, (where, what) in enumerate(zip(table[column], target, strict=True)) if None not in (where, what)]
    names, of = _sites([table[column][i] for i in rows], called)
    labels = np.array([target[i] for i in rows], dtype=np.int64)
    parts = split_inside(of, labels, Stream(SPLIT_SEED, "split", name))
    vectors = np.concatenate(
        [_encoded(name, each, [table[each.name][i] for i in rows], parts["train"]) for each in inputs], axis=1
    )
    splits = {part: Split(vectors[each], labels[each]) for part, each in parts.items()}
    sites = Sites(names, {part: of[each] for part, each in parts.items()})
    mean, std = input_statistics(splits["train"].inputs)
    own = (splits["train"], splits["validation"], splits["test"])
    return Dataset(name, class_names, *own, mean, std, (vectors.shape[1],), sites)


def _sites(values: Sequence[Any], called: str) -> tuple[tuple[str, ...], np.ndarray]:
    """The sites' names, by number or by the alphabet, and the site of each row, int64 [N]."""
    texts = [_text(value) for value in values]
    found = set(texts)
    if all(text.isdecimal() for text in found):
        width = max(map(len, found), default=0)
        texts = [text.zfill(width) for text in texts]
    known = sorted(set(texts))
    place = {text: i for i, text in enumerate(known)}
    return tuple(f"{called}-{text}" for text in known), np.array([place[text] for text in texts], dtype=np.int64)


def _encoded(name: str, column: Column, values: Sequence[Any], train: np.ndarray) -> np.ndarray:
    """The inputs that a column becomes, float32 [N, inputs]."""
    missing = np.array([value is None for value in values])
    made = _levels(name, column, values) if column.levels else _numbers(name, column, values, missing, train)
    if missing.any():
        made = np.concatenate([made, missing[:, None]], axis=1)
    return made.astype(np.float32)


def _levels(name: str, column: Column, values: Sequence[Any]) -> np.ndarray:
    texts = [None if value is None else _text(value) for value in values]
    if other := sorted({text for text in texts if text is not None} - set(column.levels)):
        raise DataError(
            f"The column {column.name!r} of {name} holds {cut(other[0], 40)!r}, where {', '.join(column.levels)} are "
            "known: install the version of the data that pFedGP knows."
        )
    return np.array([[text == level for level in column.levels[1:]] for text in texts], dtype=np.float64)


def _numbers(name: str, column: Column, values: Sequence[Any], missing: np.ndarray, train: np.ndarray) -> np.ndarray:
    try:
        numbers = np.array([0.0 if value is None else float(value) for value in values])
    except (TypeError, ValueError):
        raise DataError(
            f"The column {column.name!r} of {name} holds a value that is no number: install the version of the data "
            "that pFedGP knows."
        ) from None
    known = numbers[train][~missing[train]]
    numbers[missing] = np.median(known) if len(known) else 0.0
    return numbers[:, None]


def _text(value: Any) -> str:
    """A value as text; a whole number has no decimals, whatever type a table keeps it in."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value).strip()
