"""What a run gives each client: its test accuracy on the best model, less that on the network before round 1."""

import math
from collections.abc import Mapping, Sequence
from statistics import stdev
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.methods.base import Method
from pfedgp_core.metrics.intervals import Estimate
from server.evaluation_results import site_gains
from server.exchanged import Evaluation

__all__ = ["tests_initial", "with_gains"]


def tests_initial(settings: Settings, method: Method) -> bool:
    """Whether the run also tests the network before round 1: it is not forbidden, and its method predicts untrained."""
    return settings.test_initial and settings.task == "classification" and method.onboards


def with_gains(
    rows: Sequence[Mapping[str, Any]], summary: Mapping[str, Any], initial: Evaluation, test: Evaluation
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The rows of the clients and the summary with what the run has given.

    Parameters
    ----------
    rows : sequence of mapping
        As in ``clients.csv``.
    summary : mapping
    initial, test : Evaluation
        Of the network before round 1, by all clients or by some drawn from them, and of the best model, on the same
        test data.

    Returns
    -------
    rows : list of dict
        With ``initial_accuracy``, ``accuracy_gain`` and its 95 % interval ``accuracy_gain_low``,
        ``accuracy_gain_high``; None where a client has no result of both tests.
    summary : dict
        With ``initial``: pooled ``accuracy``, ``mean_gain`` with its interval, over so many ``clients`` of
        ``clients_of``; whether those asked were ``drawn`` from all, and the ``standard_error`` of that (None where a
        single one was); ``missing_clients`` that were asked in vain, with the reasons. ``cpu_seconds`` have the
        clients' for it too.
    """
    gains, mean = site_gains(initial, test)
    made = []
    for row in rows:
        gain = gains.get(row["name"])
        before = row["accuracy"] - gain.value if gain and row["accuracy"] is not None else None
        ends = {f"accuracy_gain_{end}": getattr(gain, end) if gain else None for end in ("low", "high")}
        made.append({**row, "initial_accuracy": before, "accuracy_gain": gain.value if gain else None, **ends})
    about = {
        "accuracy": initial.metrics["accuracy"],
        "mean_gain": None if mean is None else mean._asdict(),
        "clients": len(gains),
        "clients_of": initial.able,
        "drawn": initial.sampled,
        "standard_error": _drawing_error(list(gains.values()), initial.able) if initial.sampled else None,
        "missing_clients": dict(initial.replies.failed),
    }
    spent = summary["cpu_seconds"] + initial.cpu_seconds
    return made, {**summary, "initial": about, "cpu_seconds": spent}


def _drawing_error(gains: Sequence[Estimate], able: int) -> float | None:
    """Standard error of the mean of m gains out of `able`, drawn without replacement; None of a single one."""
    m = len(gains)
    return None if m < 2 else stdev(gain.value for gain in gains) * math.sqrt((1 - m / able) / m)
