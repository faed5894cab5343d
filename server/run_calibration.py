"""Calibration of a whole run, from the sums that clients returned in the final evaluation."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pfedgp_core.bounded_counts import bounded_counts
from pfedgp_core.metrics.calibration import CalibrationSums, lowest_ece
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.evidence import TemperatureEvidence
from pfedgp_core.metrics.likelihood import LIKELIHOOD_GRID, LikelihoodSums
from pfedgp_core.metrics.model_temperature import ModelTemperature, choose_temperature
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID
from pfedgp_core.words import counted
from server.exchanged import Evaluation

__all__ = ["RunCalibration", "temperature_meta"]


@dataclass(frozen=True)
class RunCalibration:
    """The sums of all tested clients together, and what was chosen on their validation data and evidence.

    A client counts in each split with a bounded number of samples (`pfedgp_core.bounded_counts`).

    Parameters
    ----------
    total : CalibrationSums
    temperature : float or None
        The one with the smallest ECE (the paper's rule); None where there are no validation data.
    model_temperature : ModelTemperature or None
        The one that goes with the model (`choose_temperature`); None where no data could choose one.
    rule : str or None
        What chose it, in words.
    parts_at_model_temperature : tuple of MetricSums
        Of each client's test data at that temperature, as they are pooled; none where there is no such temperature.
    """

    total: CalibrationSums
    temperature: float | None
    model_temperature: ModelTemperature | None = None
    rule: str | None = None
    parts_at_model_temperature: tuple[MetricSums, ...] = ()

    @property
    def at_model_temperature(self) -> MetricSums:
        """Of the test data at that temperature; of no sample where there is none."""
        return sum(self.parts_at_model_temperature, MetricSums.zero())

    @classmethod
    def of(
        cls, test: Evaluation, novel: Collection[str] = (), untrained: Collection[str] = ()
    ) -> "RunCalibration | None":
        """Pool what clients returned; None where none returned sums for calibration, as in regression.

        Parameters
        ----------
        test : Evaluation
            On the test data.
        novel : collection of str
            Names of novel clients, which have no part in the choice of temperatures.
        untrained : collection of str
            Names of clients whose data never trained the model, so that these say something when they are left out one
            by one. The validation data of all clients do.
        """
        extras = {
            name: a.reply.calibration for name, a in test.replies.accepted.items() if a.reply.calibration is not None
        }
        if not extras:
            return None
        choosing = {name: extra.validation for name, extra in extras.items() if name not in novel}
        counts = bounded_counts([sums[0].n for sums in choosing.values()])
        validation, tested = dict(zip(choosing, counts, strict=True)), test.counted
        thinned = [extra.thinned(validation.get(name, 0), tested[name]) for name, extra in extras.items()]
        total = sum(thinned, CalibrationSums.zero())
        found = {name: a.reply.evidence for name, a in test.replies.accepted.items() if a.reply.evidence is not None}
        chosen, rule = _chosen({n: each for n, each in found.items() if n not in novel}, untrained)
        parts: tuple[MetricSums, ...] = ()
        if chosen is not None:
            place = LIKELIHOOD_GRID.index(chosen.value)
            parts = tuple(each.test[place].thinned(tested[name]) for name, each in found.items())
        return cls(total, lowest_ece(total.validation), chosen, rule, parts)

    def record(self, test: Evaluation, class_names: Sequence[str]) -> dict[str, Any]:
        """Return ``calibration.json``.

        ``pooled`` and ``clients`` hold the sums of the test data at temperature 1, bin by bin: number of samples, sum
        of their confidences, number of correct ones. Those of a client are as it sent them.
        """
        return {
            "split": "test",
            "temperature": self.temperature,
            "model_temperature": self.model_temperature and self.model_temperature.value,
            "temperature_spread": self.model_temperature and self.model_temperature.spread,
            "temperature_rule": self.rule,
            "at_model_temperature": self.at_model_temperature.to_dict(),
            "pooled": test.pooled.to_dict(),
            "clients": {name: accepted.reply.sums.to_dict() for name, accepted in test.replies.accepted.items()},
            "temperatures": [
                {"temperature": t, "validation": validation.to_dict(), "test": tested.to_dict()}
                for t, validation, tested in zip(TEMPERATURE_GRID, self.total.validation, self.total.test, strict=True)
            ],
            "class_names": list(class_names),
            "confusion": [list(row) for row in self.total.confusion],
        }

    def results(self) -> dict[str, float | int | str | None]:
        """Return what the summary says: both temperatures with test results at them, and the validation samples."""
        of_paper = self.temperature
        tested = MetricSums.zero() if of_paper is None else self.total.test[TEMPERATURE_GRID.index(of_paper)]
        numbers, chosen = summarise(self.at_model_temperature), self.model_temperature
        return {
            "temperature": of_paper,
            "ece_at_temperature": summarise(tested)["ece"],
            "model_temperature": None if chosen is None else chosen.value,
            "temperature_spread": None if chosen is None else chosen.spread,
            "temperature_rule": self.rule,
            "ece_at_model_temperature": numbers["ece"],
            "nll_at_model_temperature": numbers["nll"],
            "validation_samples": self.total.validation[0].n,
        }


def temperature_meta(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What goes with the model of the temperature in a summary; nothing where none was chosen."""
    if summary.get("model_temperature") is None:
        return {}
    more = {key: summary[key] for key in ("temperature_spread", "temperature_rule")}
    return {"temperature": summary["model_temperature"], **more}


def _chosen(
    evidence: Mapping[str, TemperatureEvidence], untrained: Collection[str]
) -> tuple[ModelTemperature | None, str | None]:
    """The model's temperature, and the rule in words; of clients by name."""
    left_out = {name: each.left_out for name, each in evidence.items() if name in untrained and each.left_out.n}
    validation = {name: each.validation for name, each in evidence.items() if each.validation.n}
    both = [
        left_out.get(name, LikelihoodSums()) + validation.get(name, LikelihoodSums())
        for name in sorted({*left_out, *validation})
    ]
    chosen = choose_temperature(both)
    if chosen is None:
        return None, None
    parts = [f"validation data of {counted(len(validation), 'client')}"] if validation else []
    if left_out:
        parts.append(f"leave-one-out on the data of {counted(len(left_out), 'client')} that never trained")
    return chosen, " and ".join(parts)
