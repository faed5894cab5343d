"""What a request of a resident site costs: its body read, its samples predicted, its answer written."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pfedgp.predicting.table import MEASURES, header_line, prediction_lines
from pfedgp.serving.bodies import Reader

if TYPE_CHECKING:
    from pfedgp_core.data.own.samples import Samples
    from pfedgp_core.site.saved import SavedSite
    from pfedgp_core.site.streamed import Predicted

__all__ = ["Work"]


@dataclass(frozen=True)
class Work:
    """The site and how it reads what it is sent."""

    site: "SavedSite"
    reader: Reader

    def as_json(self, kind: str, body: bytes, temperature: float | None, threshold: float) -> dict[str, Any]:
        """The predictions on the samples of a body, as the values of an answer in JSON.

        Parameters
        ----------
        kind : str
            One of `pfedgp.serving.bodies.KINDS`.
        body : bytes
        temperature : float or None
            Of the probabilities; None for the model's.
        threshold : float
            Largest probability below which ``abstain`` is true.

        Raises
        ------
        DataError
            The body cannot be used.
        """
        names = self.site.class_names
        samples = self.reader.samples(kind, body)
        rows = [
            {
                "id": name,
                "predicted": names[best],
                "probabilities": row,
                **dict(zip(MEASURES, parts, strict=True)),
                "abstain": row[best] < threshold,
            }
            for part in self._predicted(samples, temperature)
            for name, best, row, parts in _rows(part)
        ]
        model = self.site.model
        return {
            "site": self.site.name,
            "model": model.sha256,
            "temperature": model.temperature if temperature is None else temperature,
            "classes": list(names),
            **self._columns(samples),
            **self._notes(samples),
            "predictions": rows,
        }

    def as_csv(self, kind: str, body: bytes, temperature: float | None, threshold: float) -> str:
        """The same as the table that ``pfedgp predict`` writes."""
        names = self.site.class_names
        parts = self._predicted(self.reader.samples(kind, body), temperature)
        return header_line(names) + "".join(prediction_lines(names, part, threshold) for part in parts)

    def _columns(self, samples: list["Samples"]) -> dict[str, list[str]]:
        """The order in which values without names were taken, where the site knows it."""
        by_position = self.site.columns and not samples[0].columns
        return {"columns": list(self.site.columns)} if by_position else {}

    def _notes(self, samples: list["Samples"]) -> dict[str, list[str]]:
        """Texts that the model does not know, and where all samples together are on another scale than its data."""
        from pfedgp_core.site.data_notes import site_scale_notes

        notes = [note for part in samples for note in part.notes]
        notes += site_scale_notes(self.site, np.concatenate([part.inputs for part in samples]))
        return {"notes": notes} if notes else {}

    def _predicted(self, samples: list["Samples"], temperature: float | None) -> Iterator["Predicted"]:
        from pfedgp_core.site.streamed import predictions

        return predictions(self.site, samples, temperature)


def _rows(part: "Predicted") -> Iterator[tuple[str, int, list[float], tuple[float, ...]]]:
    found = part.prediction
    measures = zip(*(getattr(found, measure).tolist() for measure in MEASURES), strict=True)
    return zip(part.ids, found.predicted.tolist(), found.probabilities.tolist(), measures, strict=True)
