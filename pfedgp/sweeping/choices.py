"""What a sweep tries: values of settings that are listed, and ranges from which a search draws."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pfedgp_core.config_text import parse_assignment
from pfedgp_core.errors import ConfigError
from pfedgp_core.words import cut

__all__ = [
    "Candidate",
    "Listed",
    "Range",
    "as_assignments",
    "check_keys",
    "describe",
    "extremes",
    "grid",
    "listed",
    "ranged",
]

Candidate = dict[str, str]  # values as texts, by setting
MOST = 1_000  # candidates of a grid


@dataclass(frozen=True)
class Listed:
    """A setting and the values, as texts, that are tried."""

    key: str
    values: tuple[str, ...]


@dataclass(frozen=True)
class Range:
    """A setting and the ends of the numbers that a search draws from.

    Attributes
    ----------
    key : str
    low, high : float
    whole : bool
        Whether the setting is a whole number.
    log : bool
        Whether numbers are drawn by their logarithm.
    """

    key: str
    low: float
    high: float
    whole: bool
    log: bool


def listed(text: str) -> Listed:
    """A setting of ``--over``, such as ``learning-rate=0.02,0.05``.

    Raises
    ------
    ConfigError
        It is no setting, or a value is none of its kind or there twice.
    """
    key, separator, rest = text.partition("=")
    values = [value.strip() for value in rest.split(",")]
    if not separator or not all(values):
        raise ConfigError(f"--over {cut(text, 80)!r}: give a setting and its values, such as learning-rate=0.02,0.05.")
    read = [parse_assignment(f"{key}={value}")[1] for value in values]
    if len(set(map(str, read))) < len(read):
        raise ConfigError(f"--over {cut(text, 80)!r} has a value twice: give each once.")
    return Listed(key.strip(), tuple(values))


def ranged(text: str) -> Range:
    """A setting of ``--range``, such as ``learning-rate=0.001:0.2:log``.

    Raises
    ------
    ConfigError
        It is no setting of numbers, or its ends are none.
    """
    key, _, rest = text.partition("=")
    parts = rest.split(":")
    log = parts[2:] == ["log"]
    if not 2 <= len(parts) <= 3 or (len(parts) == 3 and not log):
        raise ConfigError(f"--range {cut(text, 80)!r}: give both ends, such as learning-rate=0.001:0.2 or ...:0.2:log.")
    ends = [parse_assignment(f"{key}={part}")[1] for part in parts[:2]]
    numbers = [end for end in ends if isinstance(end, int | float) and not isinstance(end, bool)]
    if len(numbers) < 2 or not math.isfinite(sum(numbers)) or not numbers[0] < numbers[1] or (log and numbers[0] <= 0):
        raise ConfigError(
            f"--range {cut(text, 80)!r} has no two numbers of which the first is smaller{' and above 0' * log}: give "
            "such as learning-rate=0.001:0.2."
        )
    return Range(key.strip(), float(numbers[0]), float(numbers[1]), isinstance(numbers[0], int), log)


def check_keys(keys: Sequence[str]) -> None:
    """Refuse settings that are named twice, or that a sweep has an option of its own for, with a ConfigError."""
    if "seed" in keys:
        raise ConfigError("A sweep does not choose a seed: give --seeds to run each candidate under several.")
    if "best-classes" in keys:
        raise ConfigError(
            "A sweep does not choose best-classes: its candidates' numbers would be over different classes. Give one "
            "value for all with --set."
        )
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise ConfigError(f"{twice[0]} is given twice: name each setting once, in --over or --range.")
    if not keys:
        raise ConfigError("There is nothing to try: give --over learning-rate=0.02,0.05, or --range with --trials.")


def grid(over: Sequence[Listed]) -> list[Candidate]:
    """All combinations, the last setting changing first.

    Raises
    ------
    ConfigError
        There are too many.
    """
    if (count := math.prod(len(each.values) for each in over)) > MOST:
        raise ConfigError(f"--over makes {count:,} combinations, more than {MOST:,}: give fewer values, or --trials.")
    keys = [each.key for each in over]
    return [dict(zip(keys, values, strict=True)) for values in itertools.product(*(each.values for each in over))]


def extremes(over: Sequence[Listed], ranges: Sequence[Range]) -> list[Candidate]:
    """What a choice for all candidates looks at: the one of all smallest values, and those that differ from it in one.

    Last, where they are tried, the one that keeps most clients out of the training with all else at its smallest, and
    so has the fewest visits of clients.
    """
    values: dict[str, Sequence[str]] = {each.key: sorted(each.values, key=_size) for each in over}
    values |= {each.key: [_written(end, each.whole) for end in (each.low, each.high)] for each in ranges}
    least = {key: ends[0] for key, ends in values.items()}
    kept_out = {key: values[key][-1] for key in ("unseen-clients", "novel-clients") if key in values}
    singles = (least | {key: end} for key, ends in values.items() for end in ends[1:])
    return [least, *singles, *([least | kept_out] if kept_out else [])]


def as_assignments(candidate: Candidate) -> list[str]:
    """The candidate as the values of ``--set``."""
    return [f"{key}={value}" for key, value in candidate.items()]


def _size(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.inf


def _written(end: float, whole: bool) -> str:
    return str(int(end)) if whole else repr(end)


def describe(value: Any) -> str:
    """A number with four digits, as a setting is written."""
    return f"{value:d}" if isinstance(value, int) else f"{value:.4g}"
