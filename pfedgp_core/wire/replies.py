"""A client's replies about training and evaluation, and the checks of their content."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pfedgp_core.checks import check_names, count, integer, seconds, text, within
from pfedgp_core.errors import DataError
from pfedgp_core.metrics.calibration import CalibrationSums
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.evidence import TemperatureEvidence
from pfedgp_core.metrics.output_scale import ScaleEvidence
from pfedgp_core.metrics.regression import RegressionSums
from pfedgp_core.wire.names import CLIENT, OK, SPLIT, STATUS, STATUSES, Fields

__all__ = ["RIDING", "RIDING_ERROR", "EvaluateReply", "TrainReply", "riding_evaluation"]

RIDING, RIDING_ERROR = "evaluation.", "evaluation.error"  # prefix of an evaluation that rides in a train reply
LOSS_LIMIT = 1e12


@dataclass(frozen=True)
class TrainReply:
    """What a client reports about its local update, beside the vector.

    Where the request names a split, the client first evaluates the received vector, as the model of the round before,
    and reports that too: `evaluation`, or the type of the exception that kept it from it, `evaluation_error`. The
    server reads them with `riding_evaluation`, so that a bad update does not cost a good evaluation.
    """

    name: str
    status: str
    n_train: int
    loss: float | None = None
    steps: int = 0
    counters: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    evaluation: "EvaluateReply | None" = None
    evaluation_error: str = ""
    gradients: int = 0

    def to_wire(self) -> tuple[Fields, Fields]:
        """Return (config, metrics)."""
        config: Fields = {CLIENT: self.name, STATUS: self.status}
        metrics: Fields = {"n_train": self.n_train, "steps": self.steps, "gradients": self.gradients}
        if self.loss is not None:
            metrics["loss"] = float(self.loss)
        metrics |= _log_fields(self.counters, self.seconds)
        if self.evaluation is not None:
            riding_config, riding_metrics = self.evaluation.to_wire()
            config |= {RIDING + key: value for key, value in riding_config.items()}
            metrics |= {RIDING + key: value for key, value in riding_metrics.items()}
        if self.evaluation_error:
            config[RIDING_ERROR] = self.evaluation_error
        return config, metrics

    @classmethod
    def from_wire(cls, config: Mapping[str, Any], metrics: Mapping[str, Any]) -> "TrainReply":
        """Read and check what ``to_wire`` wrote."""
        status = _get(config, STATUS, text)
        if status not in STATUSES:
            raise DataError("unknown status")
        n_train = _get(metrics, "n_train", integer)
        if n_train < (1 if status == OK else 0):
            raise DataError(f"sample count {n_train} is not positive")
        return cls(
            name=_get(config, CLIENT, text),
            status=status,
            n_train=n_train,
            loss=_get(metrics, "loss", _loss) if "loss" in metrics else None,
            steps=_get(metrics, "steps", count),
            gradients=_get(metrics, "gradients", count) if "gradients" in metrics else 0,  # sites of old have none
            counters=_named(metrics, "counter.", count),
            seconds=_named(metrics, "seconds.", seconds),
        )


@dataclass(frozen=True)
class EvaluateReply:
    """Sums of metrics over a client's validation or test data; with the test data also those for calibration.

    ``evidence`` is what the choice of the model's temperature needs; sites of former versions send none. ``own`` are
    the sums over the client's own classes alone; None means that they are equal to ``sums``. ``scales`` answer a
    request for them alone, and then the metrics are of no sample.
    """

    name: str
    split: str
    sums: MetricSums | RegressionSums
    counters: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    calibration: CalibrationSums | None = None
    own: MetricSums | None = None
    evidence: TemperatureEvidence | None = None
    scales: ScaleEvidence | None = None

    @property
    def own_or_all(self) -> MetricSums | RegressionSums:
        """Sums over the client's own classes alone, also where they are equal to those over all classes."""
        return self.sums if self.own is None else self.own

    def to_wire(self) -> tuple[Fields, Fields]:
        """Return (config, metrics)."""
        metrics: Fields = {f"sums.{key}": value for key, value in self.sums.to_dict().items()}
        if self.own is not None:
            metrics |= {f"own.{key}": value for key, value in self.own.to_dict().items()}
        if self.calibration is not None:
            metrics |= {f"calibration.{key}": value for key, value in self.calibration.to_dict().items()}
        if self.evidence is not None:
            metrics |= {f"evidence.{key}": value for key, value in self.evidence.to_dict().items()}
        if self.scales is not None:
            metrics |= {f"scales.{key}": value for key, value in self.scales.to_dict().items()}
        return {CLIENT: self.name, SPLIT: self.split}, metrics | _log_fields(self.counters, self.seconds)

    @classmethod
    def from_wire(
        cls,
        config: Mapping[str, Any],
        metrics: Mapping[str, Any],
        sums_type: type[MetricSums] | type[RegressionSums] = MetricSums,
    ) -> "EvaluateReply":
        """Read and check what ``to_wire`` wrote; sums of the other task than `sums_type` are refused."""
        own = _prefixed(metrics, "own.", lambda value: value)
        try:
            sums = sums_type.from_dict(_prefixed(metrics, "sums.", lambda value: value))
            own_sums = MetricSums.from_dict(own) if own else None
        except DataError:
            raise DataError("metric sums are missing or contradict themselves") from None
        if own_sums is not None and (own_sums.n, own_sums.task) != (sums.n, sums.task):
            raise DataError("metric sums over the own classes cover other samples than those over all classes")
        calibration, evidence, scales = (
            _prefixed(metrics, prefix, lambda value: value) for prefix in ("calibration.", "evidence.", "scales.")
        )
        return cls(
            name=_get(config, CLIENT, text),
            split=_get(config, SPLIT, text),
            sums=sums,
            counters=_named(metrics, "counter.", count),
            seconds=_named(metrics, "seconds.", seconds),
            calibration=CalibrationSums.from_dict(calibration) if calibration else None,
            own=own_sums,
            evidence=TemperatureEvidence.from_dict(evidence) if evidence else None,
            scales=ScaleEvidence.from_dict(scales) if scales else None,
        )


def riding_evaluation(
    config: Mapping[str, Any], metrics: Mapping[str, Any], sums_type: type[MetricSums] | type[RegressionSums]
) -> EvaluateReply:
    """Read the evaluation that rides in a train reply; DataError says why there is none."""
    if RIDING_ERROR in config:
        error = _get(config, RIDING_ERROR, text)
        raise DataError(error if error.isidentifier() and len(error) <= 60 else "error on the client")
    fields = [
        {k.removeprefix(RIDING): v for k, v in group.items() if k.startswith(RIDING)} for group in (config, metrics)
    ]
    return EvaluateReply.from_wire(fields[0], fields[1], sums_type)


def _log_fields(counters: Mapping[str, int], seconds: Mapping[str, float]) -> Fields:
    fields: Fields = {f"counter.{key}": int(value) for key, value in counters.items()}
    return fields | {f"seconds.{key}": float(value) for key, value in seconds.items()}


def _prefixed(fields: Mapping[str, Any], prefix: str, check: Any) -> dict[str, Any]:
    return {key.removeprefix(prefix): _get(fields, key, check) for key in sorted(fields) if key.startswith(prefix)}


def _named(fields: Mapping[str, Any], prefix: str, check: Any) -> dict[str, Any]:
    """Numbers whose names the sender chose, which tables and logs show."""
    try:
        check_names(key.removeprefix(prefix) for key in fields if key.startswith(prefix))
    except ValueError as error:
        raise DataError(f"field {prefix!r} {error}") from None
    return _prefixed(fields, prefix, check)


def _loss(value: Any) -> float:
    return within(value, LOSS_LIMIT)


def _get(fields: Mapping[str, Any], key: str, check: Any) -> Any:
    if key not in fields:
        raise DataError(f"missing field {key[:60]!r}")
    try:
        return check(fields[key])
    except (TypeError, ValueError) as error:
        raise DataError(f"field {key[:60]!r} {error}") from None
