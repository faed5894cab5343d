"""What a run gives each client: its test accuracy on the best model, less that on the network before round 1."""

from collections.abc import Mapping, Sequence
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.methods.base import Method
from pfedgp_core.words import counted
from server.evaluation_results import site_gains
from server.exchanged import Evaluation

__all__ = ["tests_initial", "with_gains"]


def tests_initial(settings: Settings, method: Method) -> bool:
    """Whether the run also tests the network before round 1: it was asked for, and its method predicts untrained."""
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
        Of the network before round 1, and of the best model, on the same test data.

    Returns
    -------
    rows : list of dict
        With ``initial_accuracy``, ``accuracy_gain`` and its 95 % interval ``accuracy_gain_low``,
        ``accuracy_gain_high``; None where a client has no test result.
    summary : dict
        With ``initial``: ``accuracy``, pooled, and ``mean_gain`` with its interval; and a note that says it.
    """
    gains, mean = site_gains(initial, test)
    made = []
    for row in rows:
        gain = gains.get(row["name"])
        before = row["accuracy"] - gain.value if gain and row["accuracy"] is not None else None
        ends = {f"accuracy_gain_{end}": getattr(gain, end) if gain else None for end in ("low", "high")}
        made.append({**row, "initial_accuracy": before, "accuracy_gain": gain.value if gain else None, **ends})
    about: dict[str, Any] = {"accuracy": initial.metrics["accuracy"], "mean_gain": None}
    notes = list(summary["notes"])
    if mean is not None:
        about["mean_gain"] = mean._asdict()
        points = [f"{round(100 * end, 1) + 0.0:+.1f}" for end in mean]  # no minus before zero
        notes.append(
            f"what joining gives: {points[0]} points of accuracy, 95 % interval {points[1]} to {points[2]}, mean over "
            f"{counted(len(gains), 'client')}, against the same Gaussian processes on the network before round 1"
        )
    return made, {**summary, "initial": about, "notes": notes}
