"""Names of clients and classes: what may be in one, and which of them a reader takes for each other.

Two names look alike where their skeletons are equal, by the rule of Unicode's technical standard 39 on its table of
confusable characters: `ward-3` with a Cyrillic `a`, `site-l` beside `site-1`.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

__all__ = ["NAME_LIMIT", "alike", "escaped", "first_alike", "folded", "look", "name_fault", "normal_name"]

NAME_LIMIT = 100  # characters of a client's name

# Printable by Python's rule, and nothing to see (Unicode's property Default_Ignorable_Code_Point), or a blank of a kind
# of its own (U+2800, U+1D159, U+16FE4). U+FE0E and U+FE0F only say how the symbol before them is drawn, and are part of
# emoji.
_INVISIBLE = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u2800\u3164\ufe00-\ufe0f\uffa0"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
_DRAWN_AS = "\ufe0e\ufe0f"


def name_fault(name: str, limit: int) -> str:
    """Say what is wrong with a name, as the end of the sentence "the name 'x' ..."; empty where nothing is.

    Parameters
    ----------
    name : str
    limit : int
        Characters that it may have.
    """
    if not name.strip():
        return "is blank"
    if len(name) > limit:
        return f"has more than {limit} characters"
    if name != name.strip() or "  " in name:
        return "has a space at its end, or two beside each other"
    if unicodedata.combining(name[0]):
        return f"begins with the mark {_code(name[0])} that belongs on a letter"
    hidden = [c for c in name if not c.isprintable() or (_INVISIBLE.match(c) and c not in _DRAWN_AS)]
    return f"has the invisible character {_code(hidden[0])}" if hidden else ""


def normal_name(name: str) -> str:
    """A name as it is compared: without spaces that nobody sees, with accents as one character each."""
    return unicodedata.normalize("NFC", re.sub(" {2,}", " ", name.strip()))


def folded(name: str) -> str:
    """A name without what a reader would overlook: case, surrounding spaces, forms of one character."""
    return unicodedata.normalize("NFKC", name).strip().casefold()


def alike(name: str, other: str) -> bool:
    """Whether a reader may take two names for each other; equal ones are alike."""
    return any(mine == its for mine, its in zip(look(name), look(other), strict=True))


def first_alike(names: Sequence[str]) -> tuple[str, str] | None:
    """The first two names of a list that look alike and are not equal; None where there are none."""
    seen: dict[tuple[int, str], str] = {}
    for name in names:
        for key in enumerate(look(name)):
            if seen.setdefault(key, name) != name:
                return seen[key], name
    return None


@lru_cache(maxsize=100_000)
def look(name: str) -> tuple[str, ...]:
    """What a name looks like, as it is and without regard to case; two names with an equal entry are alike."""
    plain = " ".join(name.split())
    compatible = unicodedata.normalize("NFKC", plain)
    # Compatibility alone would lose letters that look like others, and case alone the capitals of other scripts.
    latin = "".join(c if c.isascii() else _skeleton(c) for c in plain)
    return _skeleton(compatible), _skeleton(compatible.casefold()), _skeleton(plain), _skeleton(latin.casefold())


def escaped(name: str) -> str:
    """The name with escapes for all but printable ASCII, so that a reader sees what it is made of."""
    return "".join(c if c.isascii() and c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def _skeleton(text: str) -> str:
    table = _prototypes()
    letters = _INVISIBLE.sub("", unicodedata.normalize("NFD", text))
    return unicodedata.normalize("NFD", "".join(table.get(c, c) for c in letters))


@lru_cache(maxsize=1)
def _prototypes() -> dict[str, str]:
    """The character, or characters, that stand for all that look like them, by character."""
    from confusable_homoglyphs.confusables import confusables_data

    # The package lists for each entry of Unicode's table its neighbours: a character has its prototype alone, and a
    # prototype all its characters.
    neighbours = {_bare(key): [_bare(each["c"]) for each in listed] for key, listed in confusables_data.items()}
    table = {}
    for character, others in neighbours.items():
        if len(character) == len(others) == 1:
            many = len(others[0]) > 1 or len(neighbours.get(others[0], ())) > 1
            table[character] = others[0] if many else min(character, others[0])
    return table


def _bare(key: str) -> str:
    return key.strip("\u200e")  # stands around letters that are written from right to left


def _code(character: str) -> str:
    name = unicodedata.name(character, "")  # control characters have none
    return f"U+{ord(character):04X}" + (f" ({name})" if name else "")
