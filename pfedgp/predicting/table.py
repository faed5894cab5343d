"""Predictions as CSV: the lines of ``pfedgp predict`` and of ``pfedgp serve``."""

from itertools import compress
from typing import TYPE_CHECKING

from pfedgp_core.files.csv_text import csv_lines, join_names

if TYPE_CHECKING:
    from pfedgp_core.certificate.conformal import SetRule
    from pfedgp_core.site.streamed import Predicted

__all__ = ["MEASURES", "header_line", "prediction_lines"]

MEASURES = ("entropy", "epistemic", "aleatoric")


def header_line(class_names: tuple[str, ...], typical: bool = False, sets: bool = False) -> str:
    """The line of column names for these classes of a site; with those of how typical a sample is, and of its set."""
    last = ["abstain", *(["typical"] if typical else []), *(["set"] if sets else [])]
    return csv_lines([["id", "predicted", *(f"p:{name}" for name in class_names), *MEASURES, *last]])


def prediction_lines(
    class_names: tuple[str, ...],
    predicted: "Predicted",
    threshold: float,
    least: float = 0.0,
    sets: "SetRule | None" = None,
) -> str:
    """A line for each sample.

    Parameters
    ----------
    class_names : tuple of str
    predicted : Predicted
        With how typical each sample is, where that is written.
    threshold, least : float
        Largest probability, and share of samples as typical, below which ``abstain`` is 1.
    sets : SetRule, optional
        The prediction sets that are written, with their classes joined by ``;``.
    """
    found = predicted.prediction
    uncertainty = zip(*(getattr(found, measure).tolist() for measure in MEASURES), strict=True)
    rows = zip(predicted.ids, found.predicted.tolist(), found.probabilities.tolist(), uncertainty, strict=True)
    doubtful = predicted.doubtful(threshold, least).tolist()
    typical = [[]] * len(doubtful) if predicted.typical is None else [[f"{x:.6g}"] for x in predicted.typical.tolist()]
    members = [None] * len(doubtful) if sets is None else sets.members(found.probabilities).tolist()
    return csv_lines(
        [
            *(name, class_names[best], *(f"{number:.6g}" for number in (*row, *parts)), int(doubt), *share),
            *([] if inside is None else [join_names(compress(class_names, inside))]),
        ]
        for (name, best, row, parts), doubt, share, inside in zip(rows, doubtful, typical, members, strict=True)
    )
