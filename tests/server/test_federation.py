"""A whole federation in one process: it learns, repeats to the bit, and leaves all artefacts."""

import csv
import logging
from pathlib import Path

import numpy as np
import pytest
from flwr.app import ConfigRecord

from pfedgp_core.wire.names import SHARED
from server.clients.waiting import wait_for_clients
from tests.fakegrid import FakeGrid
from tests.federation_run import SMALL, Run, federate, initial_model


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One undisturbed run."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    return federate(SMALL.replace(rounds=4), tmp_path_factory.mktemp("plain") / "run")


def test_it_leaves_all_artefacts(plain: Run) -> None:
    names = {path.name for path in plain.path.iterdir()}
    assert names >= {"config.toml", "metrics.jsonl", "best", "final", "clients.csv", "partition.json", "summary.json"}
    assert plain.summary["status"] == "completed"
    assert not np.array_equal(plain.model("final"), initial_model())


def test_it_learns(tmp_path: Path) -> None:
    run = federate(SMALL.replace(rounds=4, clients_per_round=5, evaluate_every=4), tmp_path / "run")
    losses = [record["train_loss"] for record in run.records]  # of the same clients in each round
    assert losses[-1] < 0.8 * losses[0]
    assert run.summary["accuracy"] > 0.9


def test_evaluations_cover_all_clients_and_happen_in_their_rounds(plain: Run) -> None:
    assert [r["round"] for r in plain.records if r["validation_accuracy"] is not None] == [2, 4]
    rows = list(csv.DictReader((plain.path / "clients.csv").open()))
    assert [row["name"] for row in rows] == [f"client-0{i}" for i in range(5)]
    assert sum(int(row["n_test"]) for row in rows) == plain.summary["test_samples"]
    correct = sum(round(float(row["accuracy"]) * int(row["n_test"])) for row in rows)
    assert correct / plain.summary["test_samples"] == pytest.approx(plain.summary["accuracy"])
    trained = {
        name: [r["round"] for r in plain.records if name in r["sampled"]] for name in (row["name"] for row in rows)
    }
    for row in rows:
        rounds = trained[row["name"]]
        assert int(row["rounds_trained"]) == len(rounds)
        assert row["last_trained_round"] == (str(rounds[-1]) if rounds else "n/a")


def test_record_counts_bytes_and_shares_of_time(plain: Run) -> None:
    vector = initial_model().nbytes
    assert [r["bytes_sent"] for r in plain.records] == [3 * vector, 8 * vector, 3 * vector, 8 * vector]
    assert {r["bytes_received"] for r in plain.records} == {3 * vector}
    for record in plain.records:
        assert set(record["seconds"]) == {"round", "train", "evaluate", "network", "gp", "cpu", "evaluation_cpu"}
        assert record["seconds"]["gp"] > 0
    assert plain.summary["gp_share"] + plain.summary["network_share"] == pytest.approx(1)


def test_one_seed_gives_one_result_to_the_last_bit(plain: Run, tmp_path: Path) -> None:
    again = federate(SMALL.replace(rounds=4), tmp_path / "again")
    other = federate(SMALL.replace(rounds=4, seed=1), tmp_path / "other")
    assert again.lasting == plain.lasting
    assert again.model("final").tobytes() == plain.model("final").tobytes()
    assert again.model("best").tobytes() == plain.model("best").tobytes()
    assert [r["sampled"] for r in other.records] != [r["sampled"] for r in plain.records]
    assert other.model("final").tobytes() != plain.model("final").tobytes()


@pytest.mark.slow
def test_sample_weights_change_the_average(plain: Run, tmp_path: Path) -> None:
    weighted = federate(SMALL.replace(rounds=4, aggregation="samples"), tmp_path / "weighted")
    assert weighted.summary["status"] == "completed"
    assert weighted.model("final").tobytes() != plain.model("final").tobytes()


def test_single_class_clients_take_part_without_an_update(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pfedgp")
    settings = SMALL.replace(clients=10, classes_per_client=1, rounds=2, max_failed_rounds=1)
    run = federate(settings, tmp_path / "run")
    assert [(r["ok"], r["failed"], r["train_loss"]) for r in run.records] == [(3, {}, None)] * 2
    assert run.model("final").tobytes() == initial_model().tobytes()
    assert run.summary["accuracy"] == 1.0
    assert "no update (single class)" in caplog.text


def test_an_unexpected_error_of_the_server_leaves_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*arguments):
        raise ZeroDivisionError("boom")

    monkeypatch.setattr("pfedgp_core.methods.base.combine", broken)
    with pytest.raises(ZeroDivisionError):
        federate(SMALL, tmp_path / "run")
    assert "boom" in (tmp_path / "run" / "error.log").read_text()


def test_flowers_own_loop_can_drive_the_strategy(tmp_path: Path) -> None:
    from client.client_app import app
    from pfedgp_core.methods.make import make_method
    from server.clients.roster import Roster
    from server.flower.messages import pack_vector, request_config
    from server.strategy import MethodStrategy

    grid = FakeGrid(app, SMALL.clients)
    roster = Roster(SMALL)
    wait_for_clients(roster, grid)
    result = MethodStrategy(SMALL, roster, make_method(SMALL, (1, 8, 8), 10)).start(
        grid,
        pack_vector(initial_model()),
        num_rounds=2,
        train_config=request_config(SMALL, 1),
        evaluate_config=ConfigRecord(dict(request_config(SMALL, 1, "validation"))),
    )
    assert result.arrays[SHARED].numpy().shape == initial_model().shape
    assert set(result.evaluate_metrics_clientapp) == {1, 2}


def test_the_default_folder_is_below_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flwr.app import Context, RecordDict

    from client.client_app import app
    from server.server_app import app as server_app

    monkeypatch.chdir(tmp_path)
    settings = SMALL.replace(rounds=1)
    server_app(FakeGrid(app, SMALL.clients), Context(1, 1, {}, RecordDict(), settings.to_run_config() | {"out": ""}))
    (folder,) = (tmp_path / "out").iterdir()
    assert folder.name.startswith("digits-full-")
    assert (folder / "summary.json").is_file()
