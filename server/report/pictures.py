"""The two pictures at the top of a run's folder: the score over rounds, and the calibration of the final predictions.

Both are figures of the report.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pfedgp_core.metrics.task_report import Sums, task_report
from server.report.drawing import Drawing
from server.report.figures import intervals, record_figure, reliability
from server.run.files import write_whole

__all__ = ["write_pictures"]

_log = logging.getLogger(__name__)


class _Pictures(NamedTuple):
    """Names of a task's two pictures, and how its calibration is drawn."""

    score: str
    calibration: str
    draw: Callable[[str, Any], Drawing]


_OF_TASK = {
    "classification": _Pictures("accuracy", "reliability", reliability),
    "regression": _Pictures("rmse", "coverage", intervals),
}


def write_pictures(folder: Path, history: Sequence[Mapping[str, Any]], sums: Sums) -> None:
    """Draw the two pictures of the task as PNG; one that fails is a warning, not a failed run.

    Parameters
    ----------
    folder : Path
    history : sequence of round records
    sums : MetricSums or RegressionSums
        Of the pooled test data.
    """
    pictures = _OF_TASK[sums.task]
    drawn = {
        pictures.score: partial(record_figure, history, task_report(sums.task).score_key),
        pictures.calibration: partial(pictures.draw, f"{pictures.calibration.capitalize()}, all clients", sums),
    }
    for name, draw in drawn.items():
        try:
            write_whole(folder / f"{name}.png", draw().png())
        except Exception as error:  # noqa: BLE001 (a picture is not worth a run)
            _log.warning("The picture %s.png could not be made (%s: %s).", name, type(error).__name__, error)
