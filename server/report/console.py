"""The console output of a run: settings at the start, a line a round, tables at the end; plain ASCII."""

import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from pfedgp_core.config import Settings
from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.task_report import CLASSIFICATION, task_report
from pfedgp_core.registry import METHODS
from pfedgp_core.words import counted, few, size
from server.report.effective_settings import effective_settings
from server.report.reporters import Reporter
from server.report.time_left import TimeLeft
from server.report.wording import MEAN, OWN, doubt_of, duration, gain_words, measure, number, shortened, telling
from server.run.origin import Origin

__all__ = ["ConsoleReporter"]

_MOST_ROWS = 30  # of the table per client; of more clients the worst and the best are shown
_EXTREME = 5  # of each
_WIDEST_CELL = 40
_MOST_NAMED = 20  # clients in a line


class ConsoleReporter(Reporter):
    """Prints one run. Call `start` once, `round` after each round, `finish` once.

    Parameters
    ----------
    stream : text stream, optional
        Where to print (default: standard output at the time of printing).
    """

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream
        self._report = CLASSIFICATION
        self._rounds, self._drawn, self._classes = 0, 0, "all"
        self._best: float | None = None  # the pooled number of the best model
        self._counters: Counter[str] = Counter()
        self._left = TimeLeft(Settings(), 1, own_data=False)

    def start(self, settings: Settings, n_clients: int, path: Path, origin: Origin) -> None:
        """Print the effective settings as a small tree."""
        self._rounds, self._report = settings.rounds, task_report(settings.task)
        self._drawn, self._classes = settings.evaluate_clients, settings.best_classes
        self._left = TimeLeft(settings, n_clients, own_data=origin.own)
        rows = effective_settings(settings, n_clients, path, origin)
        self._print("pFedGP")
        for place, (name, text) in enumerate(rows.items(), start=1):
            self._print(f"{'`--' if place == len(rows) else '|--'} {name:<8} {text}")

    def resume(self, done: int, history: Sequence[Mapping[str, Any]]) -> None:
        """Say where the run goes on."""
        for record in history:
            self._left.add(record)
            self._counters.update(record.get("counters") or {})
            self._standing(record)
        self._print(f"going on after round {done}")

    def round(self, record: Mapping[str, Any]) -> None:
        """Print one line, and a second one naming the clients that failed."""
        width = len(str(self._rounds))
        seconds = record["seconds"]
        self._left.add(record)
        left = self._left.seconds(record["round"])
        parts = [
            f"round {record['round']:>{width}}/{self._rounds}",
            f"{record['ok']} ok",
            f"{len(record['failed'])} failed",
            *([f"{len(late)} late"] if (late := record.get("late")) else []),
            *([f"{len(clipped)} clipped"] if (clipped := record.get("clipped")) else []),
            f"loss {number(record['train_loss'])}",
            self._validation(record),
            duration(seconds["round"]),
            f"out {size(record['bytes_sent'])}",
            f"in {size(record['bytes_received'])}",
            *([] if left is None else [f"ETA {duration(round(left))}"]),
        ]
        self._print("  ".join([*parts, *self._standing(record)]))
        self._name("failed", record["failed"])
        self._name("failed in validation", record.get("validation_failed"))
        self._counters.update(record.get("counters") or {})

    def finish(self, rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], path: Path) -> None:
        """Print the table per client, the federation's own line and, last, where the artefacts are."""
        self._print("")
        shown = rows
        if len(rows) > _MOST_ROWS:
            shown, where, score = self._extreme(rows), path / "clients.csv", self._report.metrics("client")[0].key
            self._print(f"{len(rows)} clients, all in {where}; those with the worst and the best {score}:")
        for line in _client_table(shown, self._out()):
            self._print(line)
        self._name("no test result", summary.get("missing_clients"))
        self._name("no test before round 1", (summary.get("initial") or {}).get("missing_clients"))
        failures = list((summary.get("failures") or {}).items())
        for name, reasons in failures[:_MOST_NAMED]:
            listed = ", ".join(f"{shortened(reason, 120)} x {count}" for reason, count in reasons.items())
            self._print(f"  failures of {shortened(name, _WIDEST_CELL)}: {listed}")
        if len(failures) > _MOST_NAMED:
            self._print(f"  ... and failures of {len(failures) - _MOST_NAMED} more clients in summary.json")
        if clipped := summary.get("clipped"):
            often = sorted(clipped.items(), key=lambda item: -item[1])
            listed = few([f"{shortened(name, _WIDEST_CELL)} x {count}" for name, count in often])
            self._print(f"  updates that were shortened (clip-updates): {listed}")
        if late := summary.get("late"):
            often = sorted(late.items(), key=lambda item: -item[1])
            listed = few([f"{shortened(name, _WIDEST_CELL)} x {count}" for name, count in often])
            came = counted(summary.get("late_updates", 0), "late update")
            self._print(f"  not waited for (wait-share): {listed}; {came} came in, not used")
        events = {name: count for name, count in sorted(self._counters.items()) if count}
        if events:
            self._print("counters: " + ", ".join(f"{name} {count}" for name, count in events.items()))
        self._print("")
        for i, numbers in enumerate(self._federated(summary)):
            self._print(f"{'' if i else 'federated':<11}{numbers}")
        self._print(
            f"           {summary.get('status', 'ended')} after {counted(summary.get('rounds', 0), 'round')}, "
            f"{summary.get('clients', len(rows))} clients, best round {_text(summary.get('best_round'))}, "
            f"{duration(summary.get('seconds'))}"
        )
        if epsilon := summary.get("epsilon"):
            bound = f"epsilon {max(epsilon.values()):.3g} or less at delta {summary['delta']:g}"
            self._print(f"           privacy of each client's data: {bound}")
        for note in summary.get("notes") or ():
            self._print(f"           {note}")
        self._print(f"{path}")

    def _extreme(self, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """The clients with the worst first metric and those with the best, of all that have it, the worst first."""
        score = self._report.metrics("client")[0]
        measured = [row for row in rows if row.get(score.key) is not None]
        ordered = sorted(measured, key=lambda row: score.worth(row[score.key]))
        return ordered if len(ordered) <= 2 * _EXTREME else ordered[:_EXTREME] + ordered[-_EXTREME:]

    def _validation(self, record: Mapping[str, Any]) -> str:
        """The metrics of a round's validation; most rounds have none."""
        shown, drawn = [], 0 < self._drawn < record.get("evaluated_of", 0)
        for metric in self._report.metrics("validation"):
            value = record.get(f"validation_{metric.key}")
            line = metric.line or f"{metric.key} {{:>5}}"
            error = (record.get("standard_errors") or {}).get(metric.key)
            spread = f" +- {'n/a' if error is None else metric.text(error)}" if drawn or error is not None else ""
            shown.append(line.format("-" if value is None else metric.text(value) + spread))
            if metric.key == self._report.score:
                shown += self._own(record, metric)
        return "val " + "  ".join(shown)

    def _own(self, record: Mapping[str, Any], metric: Metric) -> list[str]:
        """The number over own classes, where it decides and a record has one."""
        own = record.get(self._report.chosen_by(self._classes))
        if own is None or not self._report.by_own(self._classes):
            return []
        error = (record.get("standard_errors") or {}).get(f"own_{metric.key}")
        return [f"own classes {metric.text(own):>5}{'' if error is None else f' +- {metric.text(error)}'}"]

    def _standing(self, record: Mapping[str, Any]) -> list[str]:
        """Whether a model is the best so far, with a word where the pooled number alone says otherwise."""
        score, former = self._report.deciding(record, self._classes), self._best
        if score is None:
            return []
        best = bool(record.get("best"))
        self._best = score if best else former
        # Where not all measure, a number is of other clients than the one before.
        if former is None or record.get("evaluated") != record.get("evaluated_of"):
            return ["best so far"] if best else []
        if best:
            return ["best so far for most clients" if self._report.clearly_better(former, score) else "best so far"]
        return ["not best, as few clients gain"] if self._report.clearly_better(score, former) else []

    def _federated(self, summary: Mapping[str, Any]) -> list[str]:
        """The pooled metrics; in regression also what the clients' training means alone would give."""
        lines = [_listed(self._report.metrics("pooled"), summary)]
        if own := [key for key in telling([summary]) if key.startswith(OWN)]:
            numbers = "  ".join(f"{key.removeprefix(OWN)} {measure(key, summary[key])}" for key in own)
            lines.append(f"over each client's own classes: {numbers}")
        means = [m for m in self._report.metrics("client") if summary.get(f"{MEAN}{m.key}") is not None]
        if means:
            numbers = "  ".join(f"{m.key} {measure(m.key, summary[f'{MEAN}{m.key}'])}" for m in means)
            lines.append(f"mean over clients: {numbers}")
        if baselines := self._report.metrics("baseline"):
            lines.append(f"clients' training means alone: {_listed(baselines, summary).replace('baseline_', '')}")
        lines += _temperatures(summary)
        if gain := gain_words(summary.get("initial")):
            lines.append(f"what joining gives: {gain[0]} points of accuracy ({gain[1]})")
        return lines

    def _name(self, what: str, reasons: Mapping[str, str] | None) -> None:
        if reasons:
            listed = few(
                [f"{name} ({shortened(reason, 120)})" for name, reason in sorted(reasons.items())], _MOST_NAMED
            )
            self._print(f"  {what}: {listed}")

    def _print(self, line: str) -> None:
        print(_plain(line, self._out()), file=self._out(), flush=True)

    def _out(self) -> TextIO:
        return self._stream or sys.stdout


def _temperatures(summary: Mapping[str, Any]) -> list[str]:
    """What the model's temperature does to the test metrics, and after it the paper's choice of one."""
    lines = []
    if summary.get("model_temperature") is not None:
        method = METHODS.get(summary.get("method", "pfedgp"))  # one of one's own is not asked
        answers = ", as `pfedgp predict` answers" if method is not None and method.load().onboards else ""
        rule = f" (by {summary['temperature_rule']})" if summary.get("temperature_rule") else ""
        lines.append(
            f"at the model's temperature {summary['model_temperature']:.3g}{answers}{rule}: "
            f"ece {number(summary.get('ece_at_model_temperature'))}  "
            f"nll {number(summary.get('nll_at_model_temperature'))} (all above at temperature 1)"
        )
    if summary.get("temperature") is not None:
        doubt = doubt_of(summary["temperature"], summary.get("validation_samples"))
        lines.append(
            f"at temperature {summary['temperature']:g}, which had the smallest validation ece"
            f"{f' ({doubt})' if doubt else ''}: ece {number(summary.get('ece_at_temperature'))}"
        )
    return lines


def _listed(metrics: Sequence[Metric], summary: Mapping[str, Any]) -> str:
    return "  ".join(f"{metric.key} {measure(metric.key, summary.get(metric.key))}" for metric in metrics)


# Heading of the columns that say who a client is; the others are the keys of metrics.
_DESCRIBED = {
    "name": "client",
    "classes": "classes",
    "n_train": "train",
    "n_test": "test",
    "rounds_trained": "rounds",
    "last_trained_round": "last",
}


def _client_table(rows: Sequence[Mapping[str, Any]], stream: TextIO) -> list[str]:
    """A line for each client, with the columns of ``clients.csv``."""
    keys = telling(rows)
    heads = tuple(_DESCRIBED.get(key, key) for key in keys)
    names = sum(key in ("name", "classes") for key in keys)
    cells = [tuple(_plain(_cell(key, row[key]), stream) for key in keys) for row in rows]
    return _table(heads, cells, names) if rows else []


def _cell(key: str, value: Any) -> str:
    if key == "name":
        return shortened(str(value), _WIDEST_CELL)
    if key == "classes":
        return shortened(", ".join(value), _WIDEST_CELL)
    return _text(value) if key in _DESCRIBED else measure(key, value)


def _table(columns: tuple[str, ...], rows: Sequence[tuple[str, ...]], names: int) -> list[str]:
    """Align the columns: the first `names` to the left, numbers to the right."""
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    lines = []
    for row in [columns, *rows]:
        left = [cell.ljust(width) for cell, width in zip(row[:names], widths, strict=False)]
        right = [cell.rjust(width) for cell, width in zip(row[names:], widths[names:], strict=True)]
        lines.append("  ".join(left + right).rstrip())
    return [lines[0], "-" * max(map(len, lines)), *lines[1:]]


def _text(value: Any) -> str:
    return "n/a" if value is None else str(value)


def _plain(text: str, stream: TextIO) -> str:
    """Escapes for what no terminal may obey, and for all but ASCII where the stream is not of UTF-8."""
    encoding = (stream.encoding or "").lower().replace("-", "")
    return "".join(
        c if c.isprintable() and (c.isascii() or encoding == "utf8") else c.encode("unicode_escape").decode()
        for c in text
    )
