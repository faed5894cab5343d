"""What a cell gave, as plain values: from the folder of its run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pfedgp import __version__
from pfedgp.experiments.cells import Cell
from pfedgp.experiments.origin import commit, machine
from pfedgp_core.files.json_file import read_object
from pfedgp_core.files.regular import read_text
from pfedgp_core.files.state import kept
from pfedgp_core.learning.timing import CPU, EVALUATION_CPU
from pfedgp_core.metrics.task_report import task_report
from server.run.record_lines import read_record

__all__ = ["COMPLETED", "completed_result", "failed_result"]

COMPLETED, FAILED = "completed", "failed"
_NO_METRICS = ("seed", "rounds", "clients", "failed_replies", "best_round", "gp_share", "network_share")
_COSTS = ("gradients", "bytes_sent", "bytes_received", "cpu_seconds", "seconds")


def completed_result(cell: Cell, run: Path) -> dict[str, Any]:
    """The result of a run that has reached its end.

    Parameters
    ----------
    cell : Cell
    run : Path
        The folder of the run.

    Returns
    -------
    dict
        ``metrics`` holds all numbers of ``summary.json`` that measure the final test, those of inner tables under
        dotted keys, and ``curve`` a record for each evaluation on validation data with the costs of the training up
        to it, without those of evaluations.

    Raises
    ------
    DamagedStateError
        A file of the run is damaged.
    """
    with kept(run):
        summary = read_object(run / "summary.json")
        lines = read_text(run / "metrics.jsonl").splitlines()
    report = task_report(cell.settings.task)
    points = {} if cell.bounds is None else {"points": summary["points"]}
    measured = {k: v for k, v in _numbers(summary).items() if k not in (*_NO_METRICS, *_COSTS)}
    return _head(cell, COMPLETED) | {
        "metrics": measured,
        "validation": summary.get(report.chosen_by(cell.settings.best_classes)),
        "better": "larger" if report.score == "accuracy" else "smaller",
        "rounds": summary["rounds"],
        "best_round": summary["best_round"],
        "costs": {key: summary[key] for key in _COSTS},
        "curve": _curve([read_record(line) for line in lines], report.recorded),
        "partition_hash": summary.get("partition_hash"),
        **points,
    }


def failed_result(cell: Cell, reason: str) -> dict[str, Any]:
    """The result of a run that failed."""
    return _head(cell, FAILED) | {"reason": reason}


def _head(cell: Cell, status: str) -> dict[str, Any]:
    settings = cell.settings.to_run_config()
    return {
        "row": cell.row,
        "column": cell.column,
        "seed": cell.seed,
        "candidate": cell.candidate,
        "status": status,
        "settings": {key: value for key, value in settings.items() if key != "data-root"},
        "commit": commit(),
        "pfedgp": __version__,
        "machine": machine(),
    }


def _numbers(table: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """All numbers of a table and its inner tables."""
    found: dict[str, float] = {}
    for key, value in table.items():
        if isinstance(value, Mapping) and key not in ("run", "failures", "clipped", "missing_clients"):
            found |= _numbers(value, f"{prefix}{key}.")
        elif type(value) in (int, float):
            found[prefix + key] = value
    return found


def _curve(records: list[dict[str, Any]], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """The rounds with an evaluation, and what the training has cost up to each; own-class metrics where they differ."""
    points, spent = [], dict.fromkeys(("gradients", "bytes", CPU), 0.0)
    for record in records:
        spent["gradients"] += record.get("gradients", 0)
        spent["bytes"] += record.get("bytes_sent", 0) + record.get("bytes_received", 0)
        spent["bytes"] -= record.get("bytes_evaluation", 0)
        seconds = record["seconds"]
        spent[CPU] += float(seconds.get(CPU, 0.0)) - float(seconds.get(EVALUATION_CPU, 0.0))
        if record.get("evaluated"):
            measured = {key: record.get(f"validation_{key}") for key in keys}
            own = {f"own_{key}": record.get(f"validation_own_{key}") for key in keys}
            measured |= {key: value for key, value in own.items() if value is not None}
            points.append({"round": record["round"], **measured, **spent})
    return points
