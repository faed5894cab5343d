"""The end of a run: the best model on every client's test data, and all artefacts that follow from it."""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.config import Settings
from pfedgp_core.data.simulated import simulated_partition
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import RunFailedError
from pfedgp_core.metrics.task_report import TaskReport
from pfedgp_core.words import few
from server.class_results import ClassResults
from server.clients.roster import Roster
from server.exchanged import Evaluation
from server.novel_clients import group_results, novel_names, untrained_names
from server.outcome import client_rows, summary
from server.report.pictures import write_pictures
from server.result_intervals import summary_intervals
from server.run.artefacts import RunFolder
from server.run.checkpoint import Model
from server.run.origin import OF_SIMULATIONS
from server.run_calibration import RunCalibration, temperature_meta
from server.scale_choice import ScaleChoice

__all__ = ["choices_meta", "final_results", "model_meta", "refuse_untested"]

logger = logging.getLogger("pfedgp.server")

UNCALIBRATED = (
    "no temperature was chosen, so that probabilities are the posterior's: no client has validation data, and the data "
    "of all have trained the model"
)


def model_meta(
    model: Model,
    settings: Settings,
    roster: Roster,
    spec: DataSpec,
    report: TaskReport,
    chosen: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what a reader needs to use the model, as it is kept with it.

    The keys of `choices_meta` are there once they were chosen for this model; without a temperature it is 1. The
    settings are those with which the model predicts, so they have the output scale that was chosen. Settings of
    simulated data are left out where sites brought their own. Rules on which sites have agreed stand in the settings.
    """
    unknown = OF_SIMULATIONS if roster.own_data else ()
    applied = settings.with_rules(spec.rules).to_run_config()
    return {
        "round": model.round,
        report.chosen_by(settings.best_classes): model.metrics.get(report.score),
        "class_names": list(spec.class_names),
        "input_shape": list(spec.input_shape),
        "normalisation": {"mean": list(spec.mean), "std": list(spec.std)},
        **({"columns": list(spec.columns)} if spec.columns else {}),
        **({"value_range": spec.value_range} if spec.value_range else {}),
        "clients": [client.name for client in roster.all],
        "settings": {key: value for key, value in applied.items() if key not in unknown},
        **(chosen or {}),
    }


def choices_meta(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What goes with the model of the choices in a summary; nothing of what was not chosen."""
    scale = {key: summary[key] for key in ("scale_rule",) if key in summary}
    return temperature_meta(summary) | scale


def refuse_untested(roster: Roster, test: Evaluation, path: Path) -> None:
    """Raise RunFailedError where there are clients with test data and none of them could test the model."""
    missing = _missing(roster, test)
    if missing and not test.replies.accepted:
        named = few([f"{name}: {reason}" for name, reason in missing.items()])
        raise RunFailedError(f"No client could test the model ({named}); the model is in {path}.")


def final_results(
    folder: RunFolder,
    scale: ScaleChoice,
    roster: Roster,
    spec: DataSpec,
    test: Evaluation,
    history: Sequence[dict[str, Any]],
    best: Model,
    final: Model,
    elapsed: Callable[[], float],
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Write all results but the summary, and give the best model its temperature and its output scale.

    Parameters
    ----------
    folder : RunFolder
    scale : ScaleChoice
        With the settings at which the best model was tested.
    roster : Roster
    spec : DataSpec
    test : Evaluation
        Of the best model on the test data.
    history : sequence of dict
        The records of all rounds.
    best, final : Model
        Both are those of `final` too where it is the same vector; they were not chosen for any other.
    elapsed : callable
        Returns the seconds that the run has taken.

    Returns
    -------
    rows : list of dict
        A row a client, as in ``clients.csv``.
    summary : dict
    """
    rows, by_class = client_rows(roster, test), ClassResults.of(test)
    if by_class.pooled:
        rows = [by_class.client_row(row) for row in rows]
        folder.write_table("classes.csv", by_class.rows(spec.class_names))
    folder.write_clients(rows)
    write_pictures(folder.path, history, test.pooled)
    settings, novel = scale.settings, novel_names(scale.settings, roster)
    calibration = RunCalibration.of(test, novel, untrained_names(roster))
    if calibration is not None:
        folder.write_calibration(calibration.record(test, spec.class_names))
    _write_partition(folder, settings, roster.reference.partition_hash)
    score, missing = best.metrics.get(test.report.score), _missing(roster, test)
    total = summary(settings, roster, test, history, best.round, score, missing, elapsed())
    total |= by_class.summary(spec.class_names)
    at_temperature = () if calibration is None else calibration.parts_at_model_temperature
    total["intervals"] = summary_intervals(test, settings.seed, at_temperature)
    if novel:
        total["groups"], sentence = group_results(test, novel)
        total["notes"].append(sentence)
    total |= scale.results()
    total["cpu_seconds"] += scale.cpu
    total["notes"] += scale.note()
    if calibration is not None:
        about = (settings, roster, spec, test.report, choices_meta(total | calibration.results()))
        folder.save_model("best", best.vector, model_meta(best, *about))
        if np.array_equal(final.vector, best.vector):
            folder.save_model("final", final.vector, model_meta(final, *about))
        total |= calibration.results()
        if calibration.model_temperature is None:
            total["notes"].append(UNCALIBRATED)
    return rows, total


def _missing(roster: Roster, test: Evaluation) -> dict[str, str]:
    returning = set(roster.returning())
    return {
        client.name: test.replies.failed.get(
            client.name, "did not answer" if client.name in returning else "not connected"
        )
        for client in roster.all
        if client.hello.n_test and client.name not in test.replies.accepted
    }


def _write_partition(folder: RunFolder, settings: Settings, partition_hash: str) -> None:
    """Keep the simulated partition with the results, where this machine has the data set too."""
    if not partition_hash:
        return
    try:
        partition = simulated_partition(settings)
    except Exception as error:  # noqa: BLE001 (results are complete without it)
        logger.warning("the partition is not in the folder: %s: %s", type(error).__name__, error)
        return
    if partition.hash == partition_hash:
        folder.write_partition(partition)
    else:
        logger.warning("the partition is not in the folder: the clients' data set differs from this machine's")
