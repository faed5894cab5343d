"""Calibration of a whole run, from the sums that clients returned in the final evaluation."""

from collections.abc import Sequence
from typing import Any

from pfedgp_core.calibration import CalibrationSums, lowest_ece, prudent_temperature
from pfedgp_core.metrics import TEMPERATURE_GRID, MetricSums, summarise
from server.strategy import Evaluation

__all__ = ["calibration_record", "temperature_results"]


def calibration_record(test: Evaluation, class_names: Sequence[str]) -> dict[str, Any] | None:
    """Return ``calibration.json``; None where no client returned sums for calibration, as in regression.

    ``pooled`` and ``clients`` hold the sums of the test data at temperature 1, bin by bin: number of samples, sum of
    their confidences, number of correct ones. ``temperature`` is the one with the smallest ECE on the pooled validation
    data of the tested clients, ``model_temperature`` the one that goes with the model; None where there are none.
    """
    replies = {name: accepted.reply for name, accepted in test.replies.accepted.items()}
    extras = [reply.calibration for reply in replies.values() if reply.calibration is not None]
    if not extras:
        return None
    total = sum(extras, CalibrationSums.zero())
    return {
        "split": "test",
        "temperature": lowest_ece(total.validation),
        "model_temperature": prudent_temperature([extra.validation for extra in extras]),
        "pooled": test.pooled.to_dict(),
        "clients": {name: reply.sums.to_dict() for name, reply in replies.items()},
        "temperatures": [
            {"temperature": t, "validation": validation.to_dict(), "test": tested.to_dict()}
            for t, validation, tested in zip(TEMPERATURE_GRID, total.validation, total.test, strict=True)
        ],
        "class_names": list(class_names),
        "confusion": [list(row) for row in total.confusion],
    }


def temperature_results(test: Evaluation) -> dict[str, float | int | None]:
    """Return what the summary says about temperature; nothing in regression.

    ``temperature`` by the paper's rule and the test ECE at it, ``model_temperature`` by the prudent rule with test ECE
    and NLL at it, and the number of validation samples that both were chosen on.
    """
    extras = [a.reply.calibration for a in test.replies.accepted.values() if a.reply.calibration is not None]
    if not extras:
        return {}
    total = sum(extras, CalibrationSums.zero())
    chosen, prudent = lowest_ece(total.validation), prudent_temperature([extra.validation for extra in extras])
    return {
        "temperature": chosen,
        "ece_at_temperature": _tested(total, chosen)["ece"],
        "model_temperature": prudent,
        "ece_at_model_temperature": _tested(total, prudent)["ece"],
        "nll_at_model_temperature": _tested(total, prudent)["nll"],
        "validation_samples": total.validation[0].n,
    }


def _tested(total: CalibrationSums, temperature: float | None) -> dict[str, float | int | None]:
    at = MetricSums.zero() if temperature is None else total.test[TEMPERATURE_GRID.index(temperature)]
    return summarise(at)
