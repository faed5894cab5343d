"""Predictions as CSV: the lines of ``pfedgp predict`` and of ``pfedgp serve``."""

from typing import TYPE_CHECKING

from pfedgp_core.files.csv_text import csv_lines

if TYPE_CHECKING:
    from pfedgp_core.site.streamed import Predicted

__all__ = ["MEASURES", "header_line", "prediction_lines"]

MEASURES = ("entropy", "epistemic", "aleatoric")


def header_line(class_names: tuple[str, ...]) -> str:
    """The line of column names for these classes of a site."""
    return csv_lines([["id", "predicted", *(f"p:{name}" for name in class_names), *MEASURES, "abstain"]])


def prediction_lines(class_names: tuple[str, ...], predicted: "Predicted", threshold: float) -> str:
    """A line for each sample; `threshold` is the largest probability below which ``abstain`` is 1."""
    found = predicted.prediction
    uncertainty = zip(*(getattr(found, measure).tolist() for measure in MEASURES), strict=True)
    rows = zip(predicted.ids, found.predicted.tolist(), found.probabilities.tolist(), uncertainty, strict=True)
    return csv_lines(
        [name, class_names[best], *(f"{number:.6g}" for number in (*row, *parts)), int(row[best] < threshold)]
        for name, best, row, parts in rows
    )
