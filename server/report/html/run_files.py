"""Reading the files of a run for its report. A run that failed or was cut off has fewer."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from pfedgp_core.checks import MALFORMED
from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, DamagedStateError, DataError
from pfedgp_core.files.csv_text import read_csv
from pfedgp_core.files.json_file import read_list, read_object
from pfedgp_core.files.regular import decoding, one_line, read_text
from pfedgp_core.files.state import kept
from pfedgp_core.metrics.base import Metric
from pfedgp_core.metrics.calibration import Confusion
from pfedgp_core.metrics.classification import MetricSums
from server.report.wording import metric_behind
from server.run.origin import UNKNOWN
from server.run.record_lines import parse_record
from server.run.resume import has_config
from server.run.run_config import read_origin
from server.run.settings import read_kept_settings

__all__ = ["Calibration", "RunFiles", "as_number", "judged_columns", "read_run", "worst_first"]

Row = dict[str, str]
LARGEST = 1024**3  # bytes of metrics.jsonl
_Content = TypeVar("_Content")


@dataclass(frozen=True)
class Calibration:
    """The content of ``calibration.json``."""

    pooled: MetricSums
    clients: dict[str, MetricSums]
    temperatures: list[tuple[float, MetricSums, MetricSums]]  # temperature, validation, test
    temperature: float | None  # of the smallest ECE on validation data
    model_temperature: float | None
    rule: str  # what chose it; empty for runs of former versions
    at_model_temperature: MetricSums  # of the test data
    class_names: list[str]
    confusion: Confusion

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Calibration":
        """Read what `server.run_calibration` made; raises KeyError, TypeError, ValueError or DataError otherwise."""
        read = MetricSums.from_dict
        # Runs of former versions gave the one temperature to the model.
        model = _optional(content.get("model_temperature", content["temperature"]))
        return cls(
            read(content["pooled"]),
            {str(name): read(sums) for name, sums in content["clients"].items()},
            [(float(t["temperature"]), read(t["validation"]), read(t["test"])) for t in content["temperatures"]],
            _optional(content["temperature"]),
            model,
            str(content.get("temperature_rule") or ""),
            read(_at_model_temperature(content, model)),
            [str(name) for name in content["class_names"]],
            tuple((int(true), int(predicted), int(n)) for true, predicted, n in content["confusion"]),
        )


def _at_model_temperature(content: Mapping[str, Any], model: float | None) -> Mapping[str, Any]:
    """Of the test data; in runs of former versions it was one of the grid."""
    grid = {t["temperature"]: t["test"] for t in content["temperatures"]}
    found: Mapping[str, Any] = content.get("at_model_temperature", grid.get(model, MetricSums.zero().to_dict()))
    return found


@dataclass(frozen=True)
class RunFiles:
    """A run; what it does not have is empty.

    Attributes
    ----------
    path : Path
    settings : dict
        All effective settings, by their flat keys.
    rounds : list of dict
        The lines of ``metrics.jsonl``.
    summary : dict
    clients : list of dict
        The rows of ``clients.csv``, as text.
    calibration : Calibration or None
    site_classes : list of dict
        The rows of ``classes.csv``, as text.
    certificates : list of dict
    data : str
        What the run is about, as its origin says it.
    own_data : bool
        Whether the clients brought their data themselves.
    """

    path: Path
    settings: dict[str, Any]
    rounds: list[dict[str, Any]] = field(default_factory=list)
    summary: dict[str, Any] = field(default_factory=dict)
    clients: list[Row] = field(default_factory=list)
    calibration: Calibration | None = None
    site_classes: list[Row] = field(default_factory=list)
    certificates: list[dict[str, Any]] = field(default_factory=list)
    data: str = UNKNOWN
    own_data: bool = False


def read_run(path: Path) -> RunFiles:
    """Read the folder of a run.

    Raises
    ------
    ArtefactError
        There is no run.
    DamagedStateError
        One of its files is damaged.
    """
    if not has_config(path):
        raise ArtefactError(f"There is no run in {path}: give the folder of a run, the one that holds config.toml.")
    settings = read_kept_settings(path / "config.toml")
    summary = _if_there(path / "summary.json", read_object) or {}
    calibration = _if_there(path / "calibration.json", read_object)
    try:
        read = None if calibration is None else Calibration.from_json(calibration)
    except (DataError, *MALFORMED) as error:
        raise _damaged(path / "calibration.json", error) from error
    certificates = _if_there(path / "certificates.json", read_list) or []
    origin = read_origin(path)
    # Runs of former versions have it in their summary, or are simulations of the data set in their settings.
    simulated = origin.get("engine", "simulation") == "simulation"
    former = settings.get("dataset", Settings.dataset) if simulated else UNKNOWN
    data = str(origin.get("data", summary.get("dataset", former)))
    return RunFiles(
        path,
        Settings().to_run_config() | settings,
        _rounds(path / "metrics.jsonl"),
        summary,
        _rows(path / "clients.csv"),
        read,
        _rows(path / "classes.csv"),
        [certificate for certificate in certificates if isinstance(certificate, dict)],
        data,
        bool(origin.get("own_data", data == "own data")),
    )


def worst_first(rows: Sequence[Row]) -> list[Row]:
    """Order clients by their metrics, the first column first; those without a result come last."""
    judged = judged_columns(rows)

    def rank(row: Row) -> tuple[list[float], str]:
        found = [(metric, as_number(row.get(key))) for key, metric in judged.items()]
        return [math.inf if value is None else metric.worth(value) for metric, value in found], row.get("name", "")

    return sorted(rows, key=rank)


def judged_columns(rows: Sequence[Row]) -> dict[str, Metric]:
    """Return the columns that tell a better client from a worse one, with their metrics."""
    found = {key: metric_behind(key) for key in (rows[0] if rows else ())}
    return {key: metric for key, metric in found.items() if metric is not None and metric.better != "neither"}


def as_number(text: str | None) -> float | None:
    """Return the number that a cell holds; None for ``n/a`` and for words."""
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _optional(value: Any) -> float | None:
    return None if value is None else float(value)


def _if_there(path: Path, read: Callable[[Path], _Content]) -> _Content | None:
    with kept(path):
        return read(path) if path.exists() or path.is_symlink() else None


def _rounds(path: Path) -> list[dict[str, Any]]:
    lines = (_if_there(path, _lines) or "").splitlines()
    # A power failure may leave the last line torn; all before it were on disk whole.
    whole = lines[:-1] + [line for line in lines[-1:] if line.endswith("}")]
    with kept(path), decoding(path):
        return [parse_record(line) for line in whole]


def _lines(path: Path) -> str:
    return read_text(path, LARGEST)


def _rows(path: Path) -> list[Row]:
    text = _if_there(path, read_text) or ""
    with kept(path), decoding(path):
        return read_csv(text)


def _damaged(path: Path, error: Exception) -> DamagedStateError:
    return DamagedStateError(f"{path} is damaged ({type(error).__name__}: {one_line(error)}): restore it from a copy.")
