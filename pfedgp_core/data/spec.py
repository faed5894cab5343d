"""The inputs and classes of a federation, fixed before round 1 and sent with every request.

Sites with data of their own agree on it without showing data: each tells its classes, its number of training samples
and the moments of their inputs, and the server makes one list of classes and one normalisation of them.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from pfedgp_core.checks import MALFORMED, count, finite, text
from pfedgp_core.column_rules import column_rules
from pfedgp_core.data.column_names import columns_fault
from pfedgp_core.data.moments import divisors
from pfedgp_core.data.value_range import RANGES
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.files.json_file import parse_object
from pfedgp_core.names import name_fault, normal_name
from pfedgp_core.words import cut

__all__ = [
    "CLASSES_OF_A_SITE",
    "CLASS_NAME_LIMIT",
    "LARGEST_INPUT",
    "LARGEST_SHAPE",
    "DataSpec",
    "class_list",
    "class_names_fault",
    "folded_class",
    "normal_class",
    "parse_shape",
    "pooled_moments",
    "spellings",
    "union_of_classes",
]

CLASS_NAME_LIMIT = 200  # characters
SHORTEST_WORD = 4  # characters
_WHOLE = re.compile(r"([+-]?[0-9]+)\.0*")
CLASSES_OF_A_SITE = 1_000  # which one site may bring, unless the setting class-names has them

LARGEST_INPUT = 1e30  # beyond it float32 has no room for differences and quotients
SPEC_LIMIT = 64 * 1024 * 1024  # characters of a description
LARGEST_SHAPE = 10**8  # values of one input


@dataclass(frozen=True)
class DataSpec:
    """What all sites' data have in common, so that one shared network fits all of them.

    Attributes
    ----------
    class_names : tuple of str
        All classes of the federation, by id; empty in regression.
    input_shape : tuple of int
        Shape of one input, (C, H, W) or (D,).
    mean, std : tuple of float
        Normalisation of the inputs, per channel or feature.
    columns : tuple of str
        Names of the features of tables, or their hashes, in the order in which the model takes them; empty where the
        sites gave none, and features go by their position.
    value_range : str
        Of images, see `pfedgp_core.data.value_range`; empty for vectors, and for bytes in a description of a former
        version.
    rules : str
        By which columns of tables become inputs, where the sites have agreed on them; else they stand in the settings.
    """

    class_names: tuple[str, ...]
    input_shape: tuple[int, ...]
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()
    columns: tuple[str, ...] = ()
    value_range: str = ""
    rules: str = ""

    def to_json(self) -> str:
        """Return the fields as one JSON text."""
        return self._written

    @cached_property
    def _written(self) -> str:  # once: it goes with every request, and twice into every checkpoint
        return json.dumps({key: value for key, value in asdict(self).items() if value or key != "rules"})

    @classmethod
    def from_json(cls, written: str) -> "DataSpec":
        """Read what ``to_json`` wrote.

        Raises
        ------
        DataError
            It is something else.
        """
        if len(written) > SPEC_LIMIT:
            raise DataError("description of the federation's data of implausible length")
        try:
            fields = parse_object(written)
            spec = cls(
                tuple(text(name) for name in fields["class_names"]),
                tuple(count(size) for size in fields["input_shape"]),
                tuple(finite(x) for x in fields["mean"]),
                tuple(finite(x) for x in fields["std"]),
                tuple(text(name) for name in fields.get("columns", ())),  # former versions have none
                text(fields.get("value_range", "")),
                text(fields.get("rules", "")),
            )
            column_rules(spec.rules)
        except ConfigError as error:
            raise DataError(f"description of the federation's data with rules that are none ({error})") from None
        except MALFORMED as error:
            raise DataError(f"malformed description of the federation's data ({type(error).__name__})") from None
        if not 1 <= len(spec.input_shape) <= 3 or not 0 < math.prod(spec.input_shape) <= LARGEST_SHAPE:
            raise DataError("description of the federation's data with an implausible shape of an input")
        if not len(spec.mean) == len(spec.std) in (0, spec.input_shape[0]) or any(x <= 0 for x in spec.std):
            raise DataError("description of the federation's data with moments that fit no input")
        if fault := columns_fault(spec.columns, spec.input_shape[0]):
            raise DataError(f"description of the federation's data with {fault}")
        if spec.value_range not in ("", *RANGES):
            raise DataError("description of the federation's data with an unknown range of images' values")
        if fault := class_names_fault(spec.class_names):
            raise DataError(f"description of the federation's data with {fault}")
        return spec


def pooled_moments(
    counts: Sequence[int], means: ArrayLike, stds: ArrayLike
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Normalisation of all sites' training inputs together, from those of each; the same as from the pooled inputs.

    Parameters
    ----------
    counts : sequence of int, length S
        Training samples of each site, at least one in all.
    means, stds : array [S, C] or [S, D]
        Moments as they are; 0 where all values of a site are equal.

    Returns
    -------
    mean, std : tuples of float
        In float32 precision; std is 1 where all values of all sites are equal.
    """
    weights = np.array(counts, dtype=np.float64)[:, None] / sum(counts)
    centres, widths = np.array(means, dtype=np.float64), np.array(stds, dtype=np.float64)
    mean = (weights * centres).sum(axis=0)
    std = np.sqrt((weights * (widths**2 + (centres - mean) ** 2)).sum(axis=0))
    both = mean.astype(np.float32), divisors(mean, std).astype(np.float32)
    return tuple(both[0].tolist()), tuple(both[1].tolist())


def union_of_classes(lists: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """All classes that any list has, each once: in numeric order where all are integers, else in that of the text.

    Words that differ in case alone are one class, with the spelling that most lists have; see `spellings`.
    """
    held = Counter(name for one in lists for name in {normal_class(name) for name in one})
    names = set(spellings(held).values())
    return tuple(sorted(names, key=int if all(map(_is_integer, names)) else str))


def spellings(held: Mapping[str, int]) -> dict[str, str]:
    """The spelling under which each class counts: that of most lists, of equally many the first one in sorted order.

    Parameters
    ----------
    held : mapping of str to int
        How often each name occurs. Names of fewer than `SHORTEST_WORD` letters stay apart, as a and A are two letters.
    """
    usual: dict[str, str] = {}
    for name in sorted(held, key=lambda name: (-held[name], name)):
        usual.setdefault(folded_class(name), name)
    return {name: usual[folded_class(name)] for name in held}


def folded_class(name: str) -> str:
    """The name of a class without regard to case, where it is a word."""
    name = normal_class(name)
    return name.casefold() if len(name) >= SHORTEST_WORD else name


def class_list(text: str) -> tuple[str, ...]:
    """The classes of the setting ``class-names``; empty where it is.

    Raises
    ------
    ConfigError
        A class is named twice, or has no name.
    """
    if not text.strip():
        return ()
    names = tuple(normal_class(name) for name in text.split(","))
    if not all(names):
        raise ConfigError(f"class-names = {text!r} has an empty name: separate the classes by single commas.")
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ConfigError(f"class-names = {text!r} has the class {repeated[0]!r} twice: name each class once.")
    return names


def parse_shape(text: str) -> tuple[int, ...] | None:
    """The shape of the setting ``input-shape``; None where it is empty.

    Raises
    ------
    ConfigError
        It is neither C,H,W nor D, or too large.
    """
    if not text.strip():
        return None
    try:
        shape = tuple(int(size) for size in text.split(","))
    except ValueError:
        shape = ()
    if len(shape) not in (1, 3) or min(shape) < 1:
        raise ConfigError(
            f"input-shape = {cut(text, 60)!r} is no shape of an input: give channels, height and width of images, such "
            "as 3,32,32, or the number of features of a table, such as 20."
        )
    if math.prod(shape) > LARGEST_SHAPE:
        raise ConfigError(
            f"input-shape = {cut(text, 60)!r} has more than {LARGEST_SHAPE:,} values an input, more than any memory "
            "holds as a data set: give a smaller shape."
        )
    return shape


def normal_class(name: str) -> str:
    """The name of a class as it is compared: as `normal_name`, and a whole number without decimals (0.0 is 0)."""
    name = normal_name(name)
    return str(int(found[1])) if len(name) <= CLASS_NAME_LIMIT and (found := _WHOLE.fullmatch(name)) else name


def class_names_fault(names: Sequence[str]) -> str:
    """Say what is wrong with the class names of a model or a federation, as "a class ..."; empty where nothing is."""
    if len(set(names)) < len(names):
        return "a class twice"
    faults = (name_fault(normal_class(name), CLASS_NAME_LIMIT) for name in names)
    return next((f"a class whose name {fault}" for fault in faults if fault), "")


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdecimal()
