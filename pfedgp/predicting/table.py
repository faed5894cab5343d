"""Predictions as CSV: the lines of ``pfedgp predict`` and of ``pfedgp serve``."""

from itertools import compress
from typing import TYPE_CHECKING

from pfedgp_core.files.csv_text import csv_lines, join_names

if TYPE_CHECKING:
    from pfedgp_core.certificate.conformal import SetRule
    from pfedgp_core.site.streamed import Predicted

__all__ = ["MEASURES", "header_line", "prediction_lines"]

MEASURES = ("entropy", "epistemic", "aleatoric")


def header_line(
    class_names: tuple[str, ...], typical: bool = False, sets: bool = False, explained: bool = False
) -> str:
    """The line of column names for these classes of a site, with those of what else was asked for."""
    last = ["abstain", *(["typical"] if typical else []), *(["set"] if sets else [])]
    last += ["because", "without"] if explained else []
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
        With how typical each sample is, and the samples behind each answer, where these are written.
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
            *reason,
        ]
        for (name, best, row, parts), doubt, share, inside, reason in zip(
            rows, doubtful, typical, members, _reasons(predicted), strict=True
        )
    )


def _reasons(predicted: "Predicted") -> list[list[str]]:
    """The cells ``because`` and ``without`` of each sample; none where they were not asked for."""
    found = predicted.explanations
    if found is None:
        return [[]] * len(predicted.ids)
    heads = [[]] * len(found.ids) if found.head is None else [[f"(shared head):{share:.3g}"] for share in found.head]
    parts = zip(heads, found.ids, found.weights.tolist(), found.without.tolist(), strict=True)
    return [
        [
            join_names([*head, *(f"{one}:{weight:.3g}" for one, weight in zip(ids, weights, strict=True))]),
            f"{without:.6g}",
        ]
        for head, ids, weights, without in parts
    ]
