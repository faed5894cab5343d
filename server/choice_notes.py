"""What to know about the choice of the best model: of which clients its numbers are, and why it is not the highest."""

from collections.abc import Mapping, Sequence
from typing import Any

from pfedgp_core.config import Settings
from pfedgp_core.metrics.summary import find_metric
from pfedgp_core.metrics.task_report import TaskReport

__all__ = ["choice_notes"]


def choice_notes(
    settings: Settings, history: Sequence[Mapping[str, Any]], best_round: int, report: TaskReport
) -> list[str]:
    """Sentences for the summary of a run.

    Parameters
    ----------
    settings : Settings
    history : sequence of mapping
        Records of the rounds.
    best_round : int
    report : TaskReport
    """
    best = next((record for record in history if record["round"] == best_round), None)
    if best is None:
        return []
    return [
        note for note in (_sampling(best, settings, report), _not_the_highest(best, history, settings, report)) if note
    ]


def _not_the_highest(
    best: Mapping[str, Any], history: Sequence[Mapping[str, Any]], settings: Settings, report: TaskReport
) -> str:
    """That a round has a better pooled number than the best one (`pfedgp_core.metrics.best_choice`), where one has."""
    metric = find_metric(report.score)
    scores = {
        record["round"]: score
        for record in history
        if (score := report.deciding(record, settings.best_classes)) is not None
        and record.get("evaluated") == record.get("evaluated_of") == best.get("evaluated")  # else others measured it
    }
    if metric is None or best["round"] not in scores:
        return ""
    top = max(scores, key=lambda t: metric.worth(scores[t]))
    if not report.clearly_better(scores[top], scores[best["round"]]):
        return ""
    here, there = (metric.text(scores[t]) for t in (best["round"], top))
    return (
        f"the best model is of round {best['round']} ({here}) although round {top} has the better pooled "
        f"{metric.title} ({there}): few clients that change far more than the others do not decide"
    )


def _sampling(record: Mapping[str, Any], settings: Settings, report: TaskReport) -> str:
    """That the numbers by which the best model was chosen are those of some clients, and how far they may be off."""
    if not 0 < settings.evaluate_clients < record.get("evaluated_of", 0):
        return ""
    errors, own = record.get("standard_errors") or {}, report.chosen_by(settings.best_classes)
    error = errors.get(own.removeprefix("validation_") if own in record else report.score)
    (metric,) = [metric for metric in report.metrics("validation") if metric.key == report.score]
    drawn = f"{record['evaluated']} of {record['evaluated_of']} clients, drawn anew each time (evaluate-clients)"
    stated = "n/a" if error is None else metric.text(error)
    alone = ", as one client says nothing of the others" if record["evaluated"] == 1 else ""
    return f"validation numbers are of {drawn}: the best model's {metric.title} has a standard error of {stated}{alone}"
