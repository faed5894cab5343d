"""Which model of a run is the best one, and what becomes of the run where clients cannot test it."""

import csv
import dataclasses
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Error, Message

import client.site
import pfedgp_core.data.simulated
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.names import CONFIG, SPLIT
from tests.federation_run import SMALL, Run, federate, initial_model
from tests.wire_parts import metrics_in, vector_of

pytestmark = pytest.mark.slow


def forget_clients() -> None:
    """Clear what this process keeps of simulated clients, which other tests of the same settings have filled."""
    pfedgp_core.data.simulated.simulated_client.cache_clear()
    client.site._simulated.cache_clear()


def test_without_validation_data_the_best_model_is_the_final_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pfedgp_core.data.simulated.client_data

    def without_validation(*arguments):
        data = real(*arguments)
        none = TensorSplit(data.validation.inputs[:0], data.validation.labels[:0])
        return dataclasses.replace(data, validation=none)

    forget_clients()
    monkeypatch.setattr(pfedgp_core.data.simulated, "client_data", without_validation)
    try:
        run = federate(SMALL.replace(rounds=2), tmp_path / "run")
    finally:
        forget_clients()
    assert run.model("best").tobytes() == run.model("final").tobytes()
    assert run.summary["best_round"] == 2
    assert run.summary["validation_accuracy"] is None
    assert any("validation" in note for note in run.summary["notes"])
    assert {r["validation_accuracy"] for r in run.records} == {None}


def test_the_earliest_of_equally_good_models_is_the_best(tmp_path: Path) -> None:
    wanted = {1: 0.5, 2: 0.7, 3: 0.7, 4: 0.6}
    updates: dict[int, list[np.ndarray]] = {}

    def tamper(request: Message, index: int, reply: Message) -> Message:
        server_round = request.content[CONFIG]["round"]
        if request.metadata.message_type == "train":
            updates.setdefault(server_round, []).append(vector_of(reply))
        elif request.content[CONFIG].get(SPLIT) == "validation":
            correct = round(wanted[server_round] * 60)
            with metrics_in(reply) as metrics:
                metrics["sums.n"], metrics["sums.correct"] = 60, correct
                metrics["sums.nll_sum"], metrics["sums.brier_sum"] = 1.0, 1.0
                metrics["sums.bin_count"] = [0] * 14 + [60]
                metrics["sums.bin_correct"] = [0] * 14 + [correct]
                metrics["sums.bin_confidence"] = [0.0] * 14 + [59.0]
        return reply

    run = federate(SMALL.replace(rounds=4, evaluate_every=1), tmp_path / "run", tamper)
    assert [r["validation_accuracy"] for r in run.records] == [0.5, 0.7, 0.7, 0.6]
    assert [r["best"] for r in run.records] == [True, True, False, False]
    assert run.summary["best_round"] == 2
    assert np.allclose(run.model("best"), np.mean(updates[2], axis=0, dtype=np.float64), rtol=0, atol=1e-7)
    assert run.model("best").tobytes() != run.model("final").tobytes()


def test_a_client_that_fails_the_test_is_named_and_left_out(tmp_path: Path) -> None:
    def fail_test(request: Message, index: int, reply: Message) -> Message:
        if request.content[CONFIG].get(SPLIT) == "test" and index == 4:
            return Message(Error(code=8, reason="secret"), reply_to=request)
        return reply

    run = federate(SMALL.replace(rounds=2), tmp_path / "run", fail_test)
    assert run.summary["status"] == "completed"
    assert run.summary["missing_clients"] == {"client-04": "the client process died"}
    rows = list(csv.DictReader((run.path / "clients.csv").open()))
    assert [row["accuracy"] == "n/a" for row in rows] == [False] * 4 + [True]
    assert run.summary["test_samples"] == sum(int(row["n_test"]) for row in rows[:4])


def test_a_run_that_nobody_can_test_fails_but_keeps_its_model(tmp_path: Path) -> None:
    def fail_test(request: Message, index: int, reply: Message) -> Message | None:
        if request.content[CONFIG].get(SPLIT) == "test":
            return Message(Error(code=2, reason="MemoryError"), reply_to=request)
        return reply

    with pytest.raises(RunFailedError, match=r"No client could test the model .*MemoryError"):
        federate(SMALL.replace(rounds=2), tmp_path / "run", fail_test)
    assert Run(tmp_path / "run").model("best").size == initial_model().size
