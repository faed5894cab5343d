"""Classes of different sites that may be one class with a typing mistake, for a warning before round 1."""

import difflib
from collections.abc import Mapping, Sequence

from pfedgp_core.data.spec import folded_class, normal_class
from pfedgp_core.names import escaped, look
from pfedgp_core.wire.hello import Hello
from pfedgp_core.words import few

__all__ = ["similar_classes"]

# Names are alike from this ratio on (1: equal); short ones differ by a letter as a rule.
ALIKE, SHORTEST = 0.8, 4
MOST_COMPARED = 500  # classes; each is compared with each


def similar_classes(hellos: Sequence[Hello]) -> str:
    """Name the pairs, each class with sites that have it; empty where there are none.

    A site that has both classes tells them apart, and names that differ in digits alone (stage1, stage2) are meant so.
    """
    holders: dict[str, list[str]] = {}
    for hello in hellos:
        for name in {normal_class(name) for name in hello.class_names}:
            holders.setdefault(name, []).append(hello.name)
    names = sorted(name for name in holders if len(name) >= SHORTEST and not name.isdecimal())
    pairs = []
    for i, name in enumerate(names if len(names) <= MOST_COMPARED else ()):
        later = {other.casefold(): other for other in names[i + 1 :]}
        for near in difflib.get_close_matches(name.casefold(), later, n=3, cutoff=ALIKE):
            other = later[near]
            if folded_class(name) == folded_class(other):
                continue  # counted as one class
            if not set(holders[name]) & set(holders[other]) and _letters(name) != _letters(other):
                pairs.append(f"{name!r} ({few(holders[name], 3)}) and {other!r} ({few(holders[other], 3)})")
    pairs += _lookalikes(holders)
    if not pairs:
        return ""
    return (
        f"nearly the same classes: {few(pairs)}; if one is a mistake, have its site rename it, and set class-names to "
        "the right list"
    )


def _lookalikes(holders: Mapping[str, Sequence[str]]) -> list[str]:
    """Pairs that a reader cannot tell apart, as a letter of another script makes them; of any length and number."""
    pairs, seen = [], dict[tuple[int, str], str]()
    for name in sorted(holders):
        twins = {seen[key] for key in enumerate(look(name)) if key in seen}
        for other in sorted(twins):
            one_class = folded_class(name) == folded_class(other)
            if not one_class and not (set(holders[name]) & set(holders[other]) or (name.isascii() and other.isascii())):
                both = [f"'{escaped(each)}' ({few(holders[each], 3)})" for each in (other, name)]
                pairs.append(" looks like ".join(both))
        for key in enumerate(look(name)):
            seen.setdefault(key, name)
    return pairs


def _letters(name: str) -> str:
    return "".join(letter for letter in name if not letter.isdecimal())
