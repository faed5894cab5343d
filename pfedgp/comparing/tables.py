"""The tables of a comparison, as texts: for the console and for the page alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pfedgp.comparing.paired import Paired
from pfedgp.comparing.runs import Comparison, Pair
from pfedgp_core.metrics.intervals import Estimate
from pfedgp_core.words import cut
from server.report.wording import MISSING, is_share, measure, metric_behind, title

__all__ = ["TextTable", "by_worth", "comparison_tables"]

_LONGEST = 60  # characters of a setting
_INTERVALS = "95 % intervals of each run by itself are for other samples or sites like its own"
_PAIRED = (
    "mean over clients of the run minus {first}, each client counts one; the 95 % interval is Student's, for other "
    "clients like these, and is not corrected for the number of comparisons"
)


@dataclass(frozen=True)
class TextTable:
    """A table of texts whose first column names the rows.

    Attributes
    ----------
    title, note : str
        The note may be empty.
    heads : sequence of str
    rows : sequence of sequence of str
    """

    title: str
    note: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]

    def lines(self) -> list[str]:
        """The table for a console."""
        everything = [list(self.heads), *map(list, self.rows)]
        widths = [max(map(len, column)) for column in zip(*everything, strict=True)] if self.rows else []
        cells = [
            "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip()
            for row in (everything if self.rows else [])
        ]
        return [self.title, *([f"({self.note})"] if self.note else []), *cells]


def comparison_tables(comparison: Comparison) -> list[TextTable]:
    """What differs, the results, and one table a run that is paired with the first."""
    names, different = comparison.names, comparison.settings
    settings = [[key, *map(_setting, values)] for key, values in different.items()]
    facts = [[title(key), *map(_fact, values)] for key, values in comparison.facts.items()]
    results = [[title(key), *(_result(key, found) for found in values)] for key, values in comparison.results.items()]
    return [
        TextTable("Settings that differ", "" if settings else "none", ["setting", *names], settings),
        TextTable("Results", _INTERVALS, ["", *names], [*facts, *results]),
        *(_pair_table(pair, names[0]) for pair in comparison.pairs),
    ]


def _pair_table(pair: Pair, first: str) -> TextTable:
    heading = f"{pair.name} against {first}, client by client"
    if pair.reason:
        return TextTable(heading, f"not paired: {pair.reason}", [], [])
    rows = [
        [title(key), _difference(key, found), *map(str, by_worth(key, found))] for key, found in pair.metrics.items()
    ]
    heads = ["", "difference", "better", "equal", "worse"]
    return TextTable(heading, _PAIRED.format(first=first), heads, rows)


def by_worth(key: str, found: Paired) -> tuple[int, int, int]:
    """Clients at which a run is better, equal and worse by a metric."""
    metric = metric_behind(key)
    if metric is not None and metric.better == "lower":
        return found.lower, found.equal, found.higher
    return found.higher, found.equal, found.lower


def _difference(key: str, found: Paired) -> str:
    share = is_share(key)
    factor, unit, digits = (100.0, " points", 1) if share else (1.0, "", 3)

    def signed(value: float) -> str:
        text = f"{factor * value:+.{digits}f}"
        return text[1:] if float(text) == 0 else text

    text = signed(found.mean) + unit
    if found.low is None or found.high is None:
        return text
    # No two shares differ by more than 1, which Student's interval does not know.
    low, high = (max(-1.0, found.low), min(1.0, found.high)) if share else (found.low, found.high)
    return f"{text} ({signed(low)} to {signed(high)})"


def _result(key: str, found: Estimate | float | None) -> str:
    if isinstance(found, Estimate):
        low, high = (measure(key, end).removesuffix(" %") for end in (found.low, found.high))
        return f"{measure(key, found.value)} ({low} to {high})"
    return measure(key, found)


def _setting(value: Any) -> str:
    if value is None:
        return MISSING
    return str(value).lower() if isinstance(value, bool) else cut(value, _LONGEST) or '""'


def _fact(value: Any) -> str:
    return MISSING if value is None else str(value)
