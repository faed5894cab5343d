"""The result of a cell is read from its run's folder: metrics, those of groups too, and costs up to each evaluation."""

import json
from pathlib import Path
from typing import Any

import pytest

from pfedgp.experiments.cells import Cell
from pfedgp.experiments.result import completed_result, failed_result
from pfedgp_core.config import Settings
from pfedgp_core.errors import DamagedStateError

CELL = Cell("full", "c", 3, Settings(seed=3, data_root="/somewhere"))
COSTS = {"gradients": 30, "bytes_sent": 3, "bytes_received": 3, "cpu_seconds": 1.5, "seconds": 2.0}
SUMMARY = {
    "status": "completed",
    "accuracy": 0.9,
    "groups": {"gap": {"accuracy": -0.1, "nll": None}},
    "rounds": 3,
    "best_round": 2,
    "validation_accuracy": 0.8,
    "partition_hash": "h",
    "gp_share": 0.7,  # of a clock, where metrics are the same to the bit in every run
    "run": {"pid": 7},
    **COSTS,
}


def record(t: int, evaluated: int) -> dict[str, Any]:
    measured = {"validation_accuracy": 0.1 * t, "validation_nll": None, "evaluated": evaluated}
    costs = {"gradients": 10, "bytes_sent": 1, "bytes_received": 1, "seconds": {"cpu": 0.5}}
    return {"round": t, "failed": {}, **measured, **costs}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    (tmp_path / "summary.json").write_text(json.dumps(SUMMARY))
    lines = [json.dumps(record(t, evaluated)) for t, evaluated in ((1, 0), (2, 5), (3, 5))]
    (tmp_path / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def test_numbers_of_groups_have_dotted_keys(run: Path) -> None:
    metrics = completed_result(CELL, run)["metrics"]
    assert (metrics["accuracy"], metrics["groups.gap.accuracy"]) == (0.9, -0.1)
    assert not {"groups.gap.nll", "run.pid", "gradients", "rounds", "seconds", "gp_share"} & set(metrics)


def test_the_curve_has_the_costs_of_all_rounds_before(run: Path) -> None:
    first, second = completed_result(CELL, run)["curve"]
    assert (first["round"], first["gradients"], first["bytes"], first["cpu"]) == (2, 20, 4, 1.0)
    assert (second["gradients"], second["accuracy"]) == (30, pytest.approx(0.3))


def test_where_the_data_lie_is_not_kept(run: Path) -> None:
    assert "/somewhere" not in json.dumps(completed_result(CELL, run))


def test_a_failure_is_kept_with_its_reason() -> None:
    result = failed_result(CELL, "no space")
    assert (result["status"], result["reason"], result["seed"]) == ("failed", "no space", 3)


def test_a_damaged_run_is_named(run: Path) -> None:
    (run / "summary.json").write_text("{")
    with pytest.raises(DamagedStateError, match=r"summary\.json"):
        completed_result(CELL, run)


def test_the_curve_leaves_out_what_evaluations_cost(run: Path) -> None:
    costs = {"bytes_evaluation": 1, "seconds": {"cpu": 0.5, "evaluation_cpu": 0.2}}
    lines = [json.dumps(record(t, 5) | costs) for t in (1, 2)]
    (run / "metrics.jsonl").write_text("\n".join(lines) + "\n")
    last = completed_result(CELL, run)["curve"][-1]
    assert last["bytes"] == 2
    assert last["cpu"] == pytest.approx(0.6)


def test_the_curve_has_own_classes_where_the_run_tells_them_apart(run: Path) -> None:
    (run / "metrics.jsonl").write_text(json.dumps(record(1, 5) | {"validation_own_accuracy": 0.7}) + "\n")
    (point,) = completed_result(CELL, run)["curve"]
    assert point["own_accuracy"] == 0.7
    assert "own_nll" not in point
