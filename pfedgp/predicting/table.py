"""Predictions as CSV: the lines of ``pfedgp predict`` and of ``pfedgp serve``."""

from itertools import compress
from typing import TYPE_CHECKING

from pfedgp_core.files.csv_text import csv_lines, join_names

if TYPE_CHECKING:
    from pfedgp_core.certificate.conformal import SetRule
    from pfedgp_core.site.streamed import Predicted

__all__ = ["MEASURES", "header_line", "prediction_lines"]

MEASURES = ("entropy", "epistemic", "aleatoric")


def header_line(class_names: tuple[str, ...], sets: bool = False) -> str:
    """The line of column names for these classes of a site; with `sets`, also that of prediction sets."""
    last = ["abstain", "set"] if sets else ["abstain"]
    return csv_lines([["id", "predicted", *(f"p:{name}" for name in class_names), *MEASURES, *last]])


def prediction_lines(
    class_names: tuple[str, ...], predicted: "Predicted", threshold: float, sets: "SetRule | None" = None
) -> str:
    """A line for each sample.

    Parameters
    ----------
    class_names : tuple of str
    predicted : Predicted
    threshold : float
        Largest probability below which ``abstain`` is 1.
    sets : SetRule, optional
        The prediction sets that are written, with their classes joined by ``;``.
    """
    found = predicted.prediction
    uncertainty = zip(*(getattr(found, measure).tolist() for measure in MEASURES), strict=True)
    rows = zip(predicted.ids, found.predicted.tolist(), found.probabilities.tolist(), uncertainty, strict=True)
    members = [None] * len(predicted.ids) if sets is None else sets.members(found.probabilities).tolist()
    return csv_lines(
        [
            *(name, class_names[best], *(f"{number:.6g}" for number in (*row, *parts)), int(row[best] < threshold)),
            *([] if inside is None else [join_names(compress(class_names, inside))]),
        ]
        for (name, best, row, parts), inside in zip(rows, members, strict=True)
    )
