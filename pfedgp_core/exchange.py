"""What travels between server and clients: the field names, and plain records that check what arrived.

A message is up to three groups of fields: arrays (the one flat float32 vector `SHARED`), config (texts and numbers) and
metrics (numbers and lists of numbers only). Each record below turns itself into a config and a metrics group and back;
``from_wire`` raises DataError with the reason, and never trusts the sender. Nothing here knows Flower.
"""

import importlib.metadata
import json
import math
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pfedgp_core.calibration import CalibrationSums
from pfedgp_core.errors import DataError
from pfedgp_core.field_checks import (
    MALFORMED,
    check_names,
    count,
    finite,
    integer,
    not_negative,
    seconds,
    text,
    within,
)
from pfedgp_core.metrics import MetricSums
from pfedgp_core.regression_metrics import RegressionSums

__all__ = [
    "ARRAYS",
    "CLIENT",
    "CONFIG",
    "EVALUATE",
    "HELLO",
    "METRICS",
    "MODEL",
    "MODEL_HASH",
    "OK",
    "ONBOARD",
    "ONBOARDED",
    "ROUND",
    "SETTINGS",
    "SHARED",
    "SPEC",
    "SPLIT",
    "SPLITS",
    "STATUSES",
    "TRAIN",
    "EvaluateReply",
    "Fields",
    "Hello",
    "TrainReply",
    "riding_evaluation",
    "software_versions",
]

ARRAYS, CONFIG, METRICS = "arrays", "config", "metrics"  # the groups of a message
SHARED = "shared"  # arrays: the flat vector
SETTINGS, ROUND, SPLIT, SPEC = "settings", "round", "split", "spec"  # config of a request
CLIENT, STATUS = "client", "status"  # config of a reply
RIDING, RIDING_ERROR = "evaluation.", "evaluation.error"  # prefix of an evaluation that rides in a train reply
MODEL, MODEL_HASH, ONBOARDED = "model", "model_sha256", "onboarded"  # config of a publication and of its reply
HELLO, TRAIN, EVALUATE, ONBOARD = "query.hello", "train", "evaluate", "query.onboard"  # kinds of message
SPLITS = ("validation", "test")
SAMPLE_LIMIT = 10**8  # no client has more
CLASS_NAME_LIMIT = 200  # characters
HELLO_LIMIT = 16 * 1024 * 1024  # characters of a greeting
INPUT_LIMIT = 10**8  # values of one input
LOSS_LIMIT = 1e12
VERSIONS_LIMIT, VERSION_LIMIT = 50, 100  # entries, and characters of each part of one
OK = "ok"
STATUSES = {  # what became of a local update, and how the log says it
    OK: "updated",
    "no-step": "no update (every step skipped)",
    "single-class": "no update (single class)",
    "no-data": "no update (no training data)",
}

Fields = dict[str, Any]


@dataclass(frozen=True)
class Hello:
    """How a client presents itself before its first round; counts and class ids, no data.

    Attributes
    ----------
    name : str
        The same in every run; rows of every table carry it.
    classes : tuple of int
        Class ids in the client's training data.
    class_names : tuple of str
        All classes of the federation, by id; of a client with data of its own, the names that these give.
    n_train, n_validation, n_test : int
    input_shape : tuple of int
        Shape of one input.
    partition_hash : str
        Of the simulated partition; empty where the client brings its own data.
    versions : dict
        Software by name.
    mean, std : tuple of float
        Normalisation of the inputs; of a client with data of its own, moments of its training inputs as they are (std
        is 0 where all are equal), from which the server makes one normalisation for all.
    """

    name: str
    classes: tuple[int, ...]
    class_names: tuple[str, ...]
    n_train: int
    n_validation: int
    n_test: int
    input_shape: tuple[int, ...]
    partition_hash: str
    versions: dict[str, str]
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    def to_wire(self) -> tuple[Fields, Fields]:
        """Return (config, metrics)."""
        return {"hello": json.dumps(asdict(self))}, {}

    @classmethod
    def from_wire(cls, config: Mapping[str, Any], metrics: Mapping[str, Any]) -> "Hello":
        """Read and check what ``to_wire`` wrote."""
        try:
            written = text(config["hello"])
            if len(written) > HELLO_LIMIT:
                raise ValueError
            fields = json.loads(written)
            hello = cls(
                name=text(fields["name"]),
                classes=tuple(count(c) for c in fields["classes"]),
                class_names=tuple(text(c) for c in fields["class_names"]),
                n_train=count(fields["n_train"]),
                n_validation=count(fields["n_validation"]),
                n_test=count(fields["n_test"]),
                input_shape=tuple(count(n) for n in fields["input_shape"]),
                partition_hash=text(fields["partition_hash"]),
                versions={text(k): text(v) for k, v in fields["versions"].items()},
                mean=tuple(finite(x) for x in fields["mean"]),
                std=tuple(not_negative(x) for x in fields["std"]),
            )
        except MALFORMED as error:
            raise DataError(f"malformed hello ({type(error).__name__})") from None
        if not hello.name or not hello.name.isprintable() or len(hello.name) > 100:
            raise DataError("hello with an empty, unprintable or over-long client name")
        if any(c >= len(hello.class_names) for c in hello.classes):
            raise DataError("hello with a class id that is not among its classes")
        if not all(name.isprintable() and len(name) <= CLASS_NAME_LIMIT for name in hello.class_names):
            raise DataError("hello with an unprintable or over-long class name")
        if len(set(hello.classes)) < len(hello.classes):
            raise DataError("hello with a class twice")
        if len(hello.input_shape) > 3 or math.prod(hello.input_shape) > INPUT_LIMIT:
            raise DataError("hello with an implausible shape of an input")
        software = [hello.partition_hash, *hello.versions, *hello.versions.values()]
        if len(hello.versions) > VERSIONS_LIMIT or not all(map(_is_short, software)):
            raise DataError("hello with unprintable, over-long or too many versions")
        if max(hello.n_train, hello.n_validation, hello.n_test) > SAMPLE_LIMIT:
            raise DataError("hello with an implausible sample count")
        return hello

    @property
    def own_data(self) -> bool:
        """Whether the client brings data of its own, and is no part of a simulation."""
        return not self.partition_hash

    def count(self, split: str) -> int:
        """Number of samples in ``validation`` or ``test``."""
        return {"validation": self.n_validation, "test": self.n_test}[split]


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

    def to_wire(self) -> tuple[Fields, Fields]:
        """Return (config, metrics)."""
        config: Fields = {CLIENT: self.name, STATUS: self.status}
        metrics: Fields = {"n_train": self.n_train, "steps": self.steps}
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
            counters=_named(metrics, "counter.", count),
            seconds=_named(metrics, "seconds.", seconds),
        )


@dataclass(frozen=True)
class EvaluateReply:
    """Sums of metrics over a client's validation or test data; with the test data also those for calibration."""

    name: str
    split: str
    sums: MetricSums | RegressionSums
    counters: dict[str, int] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    calibration: CalibrationSums | None = None

    def to_wire(self) -> tuple[Fields, Fields]:
        """Return (config, metrics)."""
        metrics: Fields = {f"sums.{key}": value for key, value in self.sums.to_dict().items()}
        if self.calibration is not None:
            metrics |= {f"calibration.{key}": value for key, value in self.calibration.to_dict().items()}
        return {CLIENT: self.name, SPLIT: self.split}, metrics | _log_fields(self.counters, self.seconds)

    @classmethod
    def from_wire(
        cls,
        config: Mapping[str, Any],
        metrics: Mapping[str, Any],
        sums_type: type[MetricSums] | type[RegressionSums] = MetricSums,
    ) -> "EvaluateReply":
        """Read and check what ``to_wire`` wrote; sums of the other task than `sums_type` are refused."""
        try:
            sums = sums_type.from_dict(_prefixed(metrics, "sums.", lambda value: value))
        except DataError:
            raise DataError("metric sums are missing or contradict themselves") from None
        calibration = _prefixed(metrics, "calibration.", lambda value: value)
        return cls(
            name=_get(config, CLIENT, text),
            split=_get(config, SPLIT, text),
            sums=sums,
            counters=_named(metrics, "counter.", count),
            seconds=_named(metrics, "seconds.", seconds),
            calibration=CalibrationSums.from_dict(calibration) if calibration else None,
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


def software_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide results and compatibility."""
    versions = {"python": platform.python_version()}
    for package in ("pfedgp", "flwr", "numpy", "polyagamma", "scikit-learn", "torch"):
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            versions[package] = "not installed"
    return versions


def _is_short(line: str) -> bool:
    return len(line) <= VERSION_LIMIT and line.isprintable()


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
