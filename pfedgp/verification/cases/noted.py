"""Numbers that a case states in its notes alone: points on the two sides of a node, or the shares of these."""

import re
from fractions import Fraction
from typing import NamedTuple

from pfedgp.verification.cases.format import NotUnderstood

__all__ = ["Sides", "noted_sides"]

_RATIO = r"(?<![\d./])(\d+) ?/ ?(\d+)(?![\d/]|\.\d)"
_IN_BRACKETS = re.compile(rf"\({_RATIO}\)")
_BARE = re.compile(_RATIO)
_PER_CLASS = re.compile(r"\bM ?= ?(\d+)")
_ADDED = re.compile(r"(?<![\d./])(\d+) ?\+ ?(\d+)(?![\d/]|\.\d)")
_PRIOR = re.compile(r"\b([pq])[ _-]?prior\b ?(?:=|:|is|of)? ?(\d+ ?/ ?\d+|\d*\.\d+|[01])(?![\d/])", re.IGNORECASE)


class Sides(NamedTuple):
    """Points on the left and on the right: the client's, and all that the GP is conditioned on.

    Where only shares are stated, these are the smallest counts with such shares, and `counted` is False.
    """

    own: tuple[int, int]
    seen: tuple[int, int]
    counted: bool = True


def noted_sides(text: str) -> Sides:
    """Read ``7/0 and M=3 per class``, ``90/10 with 50+50`` or ``q prior 9/10, p prior 0.7``.

    Raises
    ------
    NotUnderstood
        The text has no such numbers, or several that could be meant.
    """
    stated = {name.lower(): _share(share) for name, share in _PRIOR.findall(text)}
    if set(stated) == {"p", "q"}:
        return Sides(_counts(stated["q"]), _counts(stated["p"]), counted=False)
    found = set(_IN_BRACKETS.findall(text)) or set(_BARE.findall(text))
    added = {(m, m) for m in _PER_CLASS.findall(text)} or set(_ADDED.findall(text))
    if not found or not added:
        raise NotUnderstood("the case states no counts of the two sides (n_data and n_ind)")
    if len(found) > 1 or len(added) > 1:
        raise NotUnderstood("the case's notes state several counts of the two sides; give n_data and n_ind")
    (left, right), (left_added, right_added) = ([int(n) for n in each] for (each,) in (found, added))
    return Sides((left, right), (left + left_added, right + right_added))


def _share(text: str) -> Fraction:
    try:
        share = Fraction(text.replace(" ", ""))
    except ZeroDivisionError:
        share = Fraction(-1)
    if not 0 <= share <= 1:
        raise NotUnderstood(f"the prior {text} in the notes is no share from 0 to 1")
    return share


def _counts(share: Fraction) -> tuple[int, int]:
    return share.numerator, share.denominator - share.numerator
