"""Which counts of texts leave a site: none of few rows, and none from which such a count can be computed."""

from collections.abc import Mapping

__all__ = ["WITHHELD", "cells_that_leave"]

WITHHELD = 0  # in place of the count of a text that is named: it has enough rows, and nobody learns how many


def cells_that_leave(counts: Mapping[str, int], rows: int, floor: int) -> dict[str, int]:
    """The texts of at least `floor` rows, with their counts or `WITHHELD`.

    All other rows together are one cell, whose count is that of all rows less the counts that leave. Where it is small,
    counts are withheld, the smallest first, until it may be any number from 1 to `floor` - 1, although all know that
    they are the smallest; where that does not suffice, the text of the fewest rows is not named either, and the cell is
    no longer small.

    Parameters
    ----------
    counts : mapping of str to int
        Rows of each text. One that is `WITHHELD` already is not known to reach another floor.
    rows : int
        Of the table, less the gaps whose number leaves.
    floor : int

    Examples
    --------
    >>> cells_that_leave({"f": 40, "m": 50, "x": 2}, 92, 5)
    {'f': 0, 'm': 50}
    >>> cells_that_leave({"f": 40, "m": 50}, 90, 5)
    {'f': 40, 'm': 50}
    >>> cells_that_leave({"f": 5, "m": 6, "x": 2}, 13, 5)
    {'m': 6}
    """
    kept = {text: n for text, n in sorted(counts.items()) if n >= max(floor, 1)}
    rest = rows - sum(kept.values())
    if not 0 < rest < floor or not kept:
        return kept
    hidden, by_size = rest, sorted(kept, key=lambda text: (kept[text], text))
    withheld: dict[str, int] = {}
    for text, larger in zip(by_size, [*by_size[1:], ""], strict=True):
        withheld[text] = WITHHELD
        hidden += kept[text]
        # Each of them is between the floor and the smallest count that is told, as the order says.
        most = kept[larger] - (text > larger) if larger else hidden
        if floor * len(withheld) + floor - 1 <= hidden <= most * len(withheld) + 1:
            return kept | withheld
    return {text: n for text, n in kept.items() if text != by_size[0]}
