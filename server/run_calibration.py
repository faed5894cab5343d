"""Calibration of a whole run, from the sums that clients returned in the final evaluation."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from pfedgp_core.bounded_counts import bounded_counts
from pfedgp_core.metrics.calibration import CalibrationSums, lowest_ece, prudent_temperature
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID
from server.exchanged import Evaluation

__all__ = ["RunCalibration"]


@dataclass(frozen=True)
class RunCalibration:
    """The sums of all tested clients together, and what was chosen on their validation data.

    A client counts in each split with a bounded number of samples (`pfedgp_core.bounded_counts`).

    Parameters
    ----------
    total : CalibrationSums
    temperature : float or None
        The one with the smallest ECE (the paper's rule); None where there are no validation data.
    model_temperature : float or None
        The one that goes with the model (`prudent_temperature`); None where there are no validation data.
    """

    total: CalibrationSums
    temperature: float | None
    model_temperature: float | None

    @classmethod
    def of(cls, test: Evaluation, novel: Collection[str] = ()) -> "RunCalibration | None":
        """Pool what clients returned; None where none returned sums for calibration, as in regression.

        Novel clients, given by their names, have no part in the choice of temperatures.
        """
        extras = {
            name: a.reply.calibration for name, a in test.replies.accepted.items() if a.reply.calibration is not None
        }
        if not extras:
            return None
        choosing = {name: extra.validation for name, extra in extras.items() if name not in novel}
        counts = bounded_counts([sums[0].n for sums in choosing.values()])
        validation, tested = dict(zip(choosing, counts, strict=True)), test.counted
        parts = [extra.thinned(validation.get(name, 0), tested[name]) for name, extra in extras.items()]
        total = sum(parts, CalibrationSums.zero())
        prudent = prudent_temperature(list(choosing.values()))
        return cls(total, lowest_ece(total.validation), prudent)

    def record(self, test: Evaluation, class_names: Sequence[str]) -> dict[str, Any]:
        """Return ``calibration.json``.

        ``pooled`` and ``clients`` hold the sums of the test data at temperature 1, bin by bin: number of samples, sum
        of their confidences, number of correct ones. Those of a client are as it sent them.
        """
        return {
            "split": "test",
            "temperature": self.temperature,
            "model_temperature": self.model_temperature,
            "pooled": test.pooled.to_dict(),
            "clients": {name: accepted.reply.sums.to_dict() for name, accepted in test.replies.accepted.items()},
            "temperatures": [
                {"temperature": t, "validation": validation.to_dict(), "test": tested.to_dict()}
                for t, validation, tested in zip(TEMPERATURE_GRID, self.total.validation, self.total.test, strict=True)
            ],
            "class_names": list(class_names),
            "confusion": [list(row) for row in self.total.confusion],
        }

    def results(self) -> dict[str, float | int | None]:
        """Return what the summary says: both temperatures with test results at them, and the validation samples."""
        prudent = self._tested(self.model_temperature)
        return {
            "temperature": self.temperature,
            "ece_at_temperature": self._tested(self.temperature)["ece"],
            "model_temperature": self.model_temperature,
            "ece_at_model_temperature": prudent["ece"],
            "nll_at_model_temperature": prudent["nll"],
            "validation_samples": self.total.validation[0].n,
        }

    def _tested(self, temperature: float | None) -> dict[str, float | int | None]:
        at = MetricSums.zero() if temperature is None else self.total.test[TEMPERATURE_GRID.index(temperature)]
        return summarise(at)
