"""Rules by which columns of tables become inputs: agreed on by a federation, so that all its sites encode alike.

They are settings of the run (``[data.columns.NAME]`` of a settings file, as JSON in ``column-rules``), and decide the
encoding alone: no site fits anything of its own. A rule holds:

``kind``
    ``number``; ``boolean``; ``category`` with ``values``; ``date``, in days; ``ignore`` for what is no feature.
``values``
    Of a category: its texts. Each but the first becomes an input that is 1 where it stands, and else 0.
``also``
    Other spellings: a table of text to value.
``other``
    The value for all texts that are none; without it they are refused.
``missing``
    What stands for a gap: a number, or one of the values; without it rows with a gap are refused.
``indicator``
    true: one more input, 1 where there is a gap.
``codes``
    Numbers that stand for a gap, such as -999.
``censored``
    Of ``<0.5`` and ``>90``: ``limit`` reads the limit, ``half`` half of it for ``<``.
``low``, ``high``
    The range of a number; what is outside is refused.
``unit``
    In which the number is, for people.
"""

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

from pfedgp_core.checks import MALFORMED
from pfedgp_core.errors import ConfigError
from pfedgp_core.names import name_fault, normal_name
from pfedgp_core.words import cut

__all__ = [
    "COLUMN_KINDS",
    "FEDERATED",
    "FILE",
    "NAME",
    "NO_RULES",
    "UNKNOWN",
    "ColumnRule",
    "ColumnRules",
    "column_rules",
    "rules_table",
    "rules_text",
]

FILE, FEDERATED = "file", "federated"  # where rules are from: settings alone, or all sites' tables as well

COLUMN_KINDS = ("number", "boolean", "category", "date", "ignore")
CENSORED = ("", "limit", "half")
UNKNOWN = "(unknown)"  # the value, in rules on which sites agreed, of a text that no site told
LIMIT = 1_000_000  # characters of all rules
VALUES = 1_000  # of one category
NAME = 200  # characters of a column's name or of a value
BOOLEAN = ("false", "true")
_KEYS = {
    "number": {"missing", "indicator", "codes", "censored", "low", "high", "unit"},
    "boolean": {"also", "other", "missing", "indicator", "codes"},
    "category": {"values", "also", "other", "missing", "indicator", "codes"},
    "date": {"missing", "indicator"},
    "ignore": set(),
}


@dataclass(frozen=True)
class ColumnRule:
    """The rule of one column; see the module."""

    name: str
    kind: str
    values: tuple[str, ...] = ()
    also: tuple[tuple[str, str], ...] = ()
    other: str | None = None
    missing: float | str | None = None
    indicator: bool = False
    codes: tuple[float, ...] = ()
    censored: str = ""
    low: float = -math.inf
    high: float = math.inf
    unit: str = ""

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the inputs that the column becomes."""
        if self.kind == "ignore":
            return ()
        made = tuple(f"{self.name}={value}" for value in self.values[1:]) if self.kind == "category" else (self.name,)
        return (*made, f"{self.name} missing") if self.indicator else made


@dataclass(frozen=True)
class ColumnRules:
    """The rules of a federation, by the name of the column."""

    rules: tuple[ColumnRule, ...] = ()

    @cached_property
    def _by_name(self) -> dict[str, ColumnRule]:
        return {rule.name: rule for rule in self.rules}

    def of(self, name: str) -> ColumnRule | None:
        """The rule of a column; None where it has none."""
        return self._by_name.get(normal_name(name))

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that a table must have."""
        return tuple(rule.name for rule in self.rules if rule.kind != "ignore")

    def inputs(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Names of the inputs that columns of a table become."""
        found = ((name, self.of(name)) for name in columns)
        return tuple(made for name, rule in found for made in ((name,) if rule is None else rule.inputs))


NO_RULES = ColumnRules()


def rules_text(table: Mapping[str, Any]) -> str:
    """Rules as the setting ``column-rules`` holds them, from the tables of a settings file; the same for equal rules.

    Raises
    ------
    ConfigError
        Something in it is no rule.
    """
    try:
        text = json.dumps(table, sort_keys=True, ensure_ascii=False, allow_nan=False) if table else ""
    except (TypeError, ValueError) as error:
        raise ConfigError(f"data.columns holds what no rule has ({error}): give texts, numbers and lists.") from None
    column_rules(text)
    return text


@lru_cache(maxsize=64)
def column_rules(text: str) -> ColumnRules:
    """The rules in the setting ``column-rules``.

    Raises
    ------
    ConfigError
        It holds something else.
    """
    if not text.strip():
        return NO_RULES
    if len(text) > LIMIT:
        raise ConfigError(f"column-rules has more than {LIMIT:,} characters: give rules for fewer columns.")
    try:
        rules = tuple(_rule(name, about) for name, about in rules_table(text).items())
    except MALFORMED as error:
        raise ConfigError(f"column-rules is not the JSON of rules ({cut(error, 120)}): see docs/data.md.") from None
    if len({rule.name for rule in rules}) < len(rules):
        raise ConfigError("column-rules has a column twice: give each one rule.")
    inputs = Counter(name for rule in rules for name in rule.inputs)
    if repeated := sorted(name for name, times in inputs.items() if times > 1):
        raise ConfigError(f"column-rules makes two inputs named {cut(repeated[0], 60)!r}: rename a column.")
    return ColumnRules(rules)


def rules_table(text: str) -> dict[str, Any]:
    """The rules in the setting ``column-rules`` as tables by column; ValueError where it is no JSON of an object."""
    if not text.strip():
        return {}

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(table := dict(pairs)) < len(pairs):
            raise ValueError("it names a key twice")
        return table

    def no_number(constant: str) -> float:
        raise ValueError(f"{constant} is no number")

    table = json.loads(text, object_pairs_hook=unique, parse_constant=no_number)
    if not isinstance(table, dict):
        raise ValueError("it is no object")
    return table


def _rule(name: str, about: Any) -> ColumnRule:
    def wrong(what: str) -> ConfigError:
        return ConfigError(f"data.columns: the rule of the column {cut(name, 60)!r} {what}.")

    name = normal_name(name)
    if fault := name_fault(name, NAME):
        raise wrong(f"has a name that {fault}: rename the column")
    if not isinstance(about, dict) or about.get("kind") not in COLUMN_KINDS:
        raise wrong(f"has no kind that is known: give one of {', '.join(COLUMN_KINDS)}")
    kind, given = about["kind"], {key: value for key, value in about.items() if key != "kind"}
    if strange := sorted(given.keys() - _KEYS[kind]):
        allowed = ", ".join(sorted(_KEYS[kind])) or "nothing else"
        raise wrong(f"has {cut(strange[0], 40)!r}, and one of kind {kind} has {allowed}")
    values = BOOLEAN if kind == "boolean" else _texts(given.get("values", []))
    if values is None or (kind == "category" and not 2 <= len(set(values)) == len(values) <= VALUES):
        raise wrong(f"needs values: a list of 2 to {VALUES:,} different texts")
    if fault := _fault(given, values):
        raise wrong(fault)
    also = given.get("also", {})
    return ColumnRule(
        name,
        kind,
        tuple(values),
        tuple((normal_name(text), value) for text, value in also.items()),
        given.get("other"),
        given.get("missing"),
        given.get("indicator", False),
        tuple(map(float, given.get("codes", []))),
        given.get("censored", ""),
        float(given.get("low", -math.inf)),
        float(given.get("high", math.inf)),
        given.get("unit", ""),
    )


def _fault(given: Mapping[str, Any], values: Sequence[str]) -> str:
    """What is wrong with the rest of a rule, as the end of a sentence; empty where nothing is."""
    also, codes = given.get("also", {}), given.get("codes", [])
    if not isinstance(also, dict) or not all(isinstance(v, str) and v in values for v in also.values()):
        return "has in also something else than texts that stand for one of its values"
    if not isinstance(codes, list) or not all(map(_is_number, codes)):
        return "has codes that are no list of numbers"
    low, high = given.get("low", -math.inf), given.get("high", math.inf)
    if not _is_number(low) or not _is_number(high) or not low < high:
        return "has bounds that are no numbers, or low is not below high"
    for key in ("missing", "other"):
        value = given.get(key)
        if value is not None and not (value in values if values else _is_number(value) and math.isfinite(value)):
            return f"has {key} = {cut(repr(value), 40)}: give " + ("one of its values" if values else "a number")
    if not isinstance(given.get("indicator", False), bool):
        return "has an indicator that is not true or false"
    if given.get("censored", "") not in CENSORED:
        return "has a censored that is neither limit nor half"
    return "" if isinstance(given.get("unit", ""), str) else "has a unit that is no text"


def _texts(values: Any) -> tuple[str, ...] | None:
    if not isinstance(values, list) or not all(isinstance(v, str) and not name_fault(v, NAME) for v in values):
        return None
    return tuple(map(normal_name, values))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not math.isnan(value)
