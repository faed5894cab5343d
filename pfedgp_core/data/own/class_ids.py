"""Labels of a site's own data as numbers: the federation's class ids, or the targets of a regression.

A label that is an integer is a position in the federation's list of classes, unless that list itself consists of such
names.
"""

import difflib
import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from pfedgp_core.data.own.samples import Samples
from pfedgp_core.data.spec import folded_class, normal_class
from pfedgp_core.errors import DataError
from pfedgp_core.words import counted, cut, few

if TYPE_CHECKING:
    from pfedgp_core.data.samples import Split

__all__ = ["map_classes", "to_split", "to_targets"]


def map_classes(names: Sequence[str], class_names: Sequence[str]) -> np.ndarray:
    """Class ids of labels, by name or, where they are integers and no class has such a name, by position.

    A word that differs from one class in its case alone is that class.

    Parameters
    ----------
    names : sequence of str, length N
    class_names : sequence of str
        The federation's classes.

    Returns
    -------
    numpy.ndarray, int64 [N]

    Raises
    ------
    DataError
        A class that the federation does not have.
    """
    known = {normal_class(name): i for i, name in reversed(list(enumerate(class_names)))}
    distinct = sorted(set(names))
    if all(_is_integer(normal_class(name)) for name in distinct) and not any(map(_is_integer, known)):
        known = {str(i): i for i in range(len(class_names))}
        ids = {name: known.get(normal_class(name).lstrip("0") or "0", -1) for name in distinct}
    else:
        folded = {folded_class(name): i for name, i in known.items()}
        alone = Counter(map(folded_class, known))
        ids = {
            name: known.get(normal_class(name), folded[key] if alone[key := folded_class(name)] == 1 else -1)
            for name in distinct
        }
    unknown = [name for name in distinct if ids[name] < 0]
    if unknown:
        near = difflib.get_close_matches(unknown[0], list(class_names), n=3)
        meant = [name for name in near if not _may_deny(name, unknown[0])]
        hint = f"did you mean {meant[0]!r}?" if meant else "rename it, or leave its samples out."
        if case := [name for name in class_names if name.casefold() == unknown[0].casefold()]:
            hint = f"did you mean {case[0]!r}? In names this short capitals count."
        raise DataError(
            f"The class {cut(unknown[0], 60)!r} is none of the federation's {len(class_names)} classes "
            f"({few(class_names, 10)}): {hint}"
        )
    return np.array([ids[name] for name in names], dtype=np.int64)


def to_split(samples: Samples, class_names: Sequence[str]) -> "Split":
    """Samples with the federation's class ids.

    Raises
    ------
    DataError
        A class that the federation does not have, or samples without classes.
    """
    if samples.labels is None:
        raise DataError("The samples have no classes: give labelled data.")
    from pfedgp_core.data.samples import Split

    return Split(samples.inputs, map_classes(samples.labels, class_names))


def to_targets(samples: Samples) -> "Split":
    """Samples of a regression, whose labels are numbers.

    Raises
    ------
    DataError
        A label is no finite number, or there are none.
    """
    if samples.labels is None:
        raise DataError("The samples have no targets: give labelled data.")
    targets = np.array([_number(label) for label in samples.labels], dtype=np.float64)
    if len(wrong := np.flatnonzero(~np.isfinite(targets))):
        raise DataError(
            f"The target {cut(samples.labels[wrong[0]], 60)!r} of sample {samples.ids[wrong[0]]} is no finite number "
            f"({counted(len(wrong), 'such sample')}): the setting task = 'regression' needs numbers as labels."
        )
    from pfedgp_core.data.samples import Split

    return Split(samples.inputs, targets)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _may_deny(one: str, other: str) -> bool:
    """Whether one is the other after a few letters, as "no sepsis" and "abnormal" are: likely the opposite, no slip."""
    short, long = sorted((one.casefold(), other.casefold()), key=len)
    return long.endswith(short)


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdecimal()
