"""Numbers as text in tables and log lines; ``n/a`` stands for a number that does not exist."""

from collections.abc import Mapping, Sequence
from typing import Any

from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.summary import find_metric
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID
from pfedgp_core.words import counted

__all__ = [
    "ENDS",
    "MEAN",
    "OWN",
    "capital",
    "doubt_of",
    "duration",
    "gain_words",
    "is_share",
    "measure",
    "metric_behind",
    "number",
    "percent",
    "points",
    "shortened",
    "telling",
    "title",
]

MISSING = "n/a"
OWN = "own_"  # how the keys of metrics over a client's own classes begin
ENDS = ("_low", "_high")  # how the keys of the ends of intervals end
MEAN = "mean_"  # and those of means over clients
_CLASS_SHARES = ("accuracy_gain", "balanced_accuracy", "sensitivity", "specificity", "ppv", "npv")
_FEW = 100  # validation samples, below which one of them decides between temperatures
_TITLES = {
    "name": "site",
    "n_train": "train",
    "n_test": "test",
    "rounds_trained": "rounds trained",
    "last_trained_round": "last trained",
    "train_loss": "training loss",
    **{key: key.upper() for key in ("ppv", "npv", "f1", "auroc", "auprc")},
}
# How the key of a metric is extended, and how the extension reads.
_BEFORE = {"initial_": "initial", "validation_": "validation", "test_": "test", OWN: "own-class", MEAN: "mean client"}
_AFTER = {"_at_temperature": "at temperature", "_at_model_temperature": "at model temperature"}


def number(value: float | None) -> str:
    """Three decimals."""
    return MISSING if value is None else f"{value:.3f}"


def percent(value: float | None) -> str:
    """A share, as percentage with one decimal."""
    return MISSING if value is None else f"{100 * value:.1f} %"


def points(value: float) -> str:
    """A difference of shares, in percentage points with a sign; no minus before zero."""
    return f"{round(100 * value, 1) + 0.0:+.1f}"


def gain_words(initial: Mapping[str, Any] | None) -> tuple[str, str] | None:
    """What joining gives, from ``initial`` of a summary: points of accuracy, and what belongs to them; None of none."""
    if not initial or not initial.get("mean_gain"):
        return None
    value, low, high = (points(initial["mean_gain"][end]) for end in ("value", "low", "high"))
    details, error = [f"95 % interval {low} to {high}"], initial.get("standard_error")
    if "clients" in initial:  # runs of former versions do not say it here
        stated = MISSING if error is None else f"{100 * error:.1f} points"
        drawn = f" drawn from {initial['clients_of']}, standard error {stated}" if initial["drawn"] else ""
        details.append(f"mean over {counted(initial['clients'], 'client')}{drawn}")
    details.append("the initial accuracy is that of the same Gaussian processes on the network before round 1")
    return value, "; ".join(details)


def measure(key: str, value: float | None) -> str:
    """A measure by its key: shares of samples as percentages, all else with three decimals."""
    return percent(value) if is_share(key) else number(value)


def is_share(key: str) -> bool:
    """Whether a measure is a share of samples, which reads best as a percentage."""
    metric = metric_behind(key)
    return key in _CLASS_SHARES or (metric is not None and metric.share)


def metric_behind(key: str) -> Metric | None:
    """Return the metric that a key of a file is about: ``ece`` of ``validation_ece`` and ``ece_at_temperature``."""
    return find_metric(_parts(key)[1])


def telling(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys of tables that say something: no ends of intervals, and no own-class metrics that equal others.

    Where every classifier predicts its client's own classes alone, as in pFedGP by default, the two are one.
    """
    keys = [key for key in (rows[0] if rows else ()) if not key.endswith(ENDS)]
    pairs = {key: key.removeprefix(OWN) for key in keys if key.startswith(OWN)}
    if all(row.get(own) == row.get(key) for row in rows for own, key in pairs.items()):
        return [key for key in keys if key not in pairs]
    return keys


def duration(seconds: float | None) -> str:
    """Seconds, in the unit that reads best; whole numbers without decimals."""
    if seconds is None:
        return MISSING
    if seconds < 10 and not isinstance(seconds, int):
        return f"{seconds:.2f} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def shortened(text: str, width: int) -> str:
    """On one line, at most `width` characters."""
    line = " ".join(str(text).split())
    return line if len(line) <= width else line[: width - 3] + "..."


def doubt_of(temperature: float, samples: int | None) -> str:
    """Why the temperature with the smallest ECE may be an accident of `samples` validation samples; mostly empty."""
    ends = {TEMPERATURE_GRID[0]: "the smallest that was tried", TEMPERATURE_GRID[-1]: "the largest that was tried"}
    reasons = [ends[temperature]] if temperature in ends else []
    if samples is not None and samples < _FEW:
        reasons.append(f"only {samples} validation {'sample' if samples == 1 else 'samples'}")
    return ", ".join(reasons)


def capital(text: str) -> str:
    """The text with its first letter as a capital."""
    return text[:1].upper() + text[1:]


def title(key: str) -> str:
    """The heading of a column or a chart: ``validation_ece`` reads ``validation ECE``."""
    before, name, after = _parts(key)
    metric = find_metric(name)
    if metric is None:
        return _TITLES.get(key, key.replace("_", " "))
    return " ".join(part for part in (before, metric.title, after) if part)


def _parts(key: str) -> tuple[str, str, str]:
    """Words before the name of a metric, the name, and words after it."""
    before, after = "", ""
    for ending, words in _AFTER.items():
        if key.endswith(ending):
            key, after = key.removesuffix(ending), words
    for beginning, words in _BEFORE.items():
        if key.startswith(beginning):
            key, before = key.removeprefix(beginning), f"{before} {words}".lstrip()
    return before, key, after
