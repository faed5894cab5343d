"""A whole federation in one process: it learns, repeats to the bit, and outlives what clients do to it."""

import csv
import dataclasses
import logging
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message

import pfedgp_core.data.simulated
import pfedgp_core.methods.pfedgp
from pfedgp_core.data.datasets import TensorSplit
from pfedgp_core.errors import RunFailedError
from pfedgp_core.model.shared import SharedState
from pfedgp_core.wire.names import ARRAYS, CONFIG, METRICS, SHARED, SPLIT
from server.clients.waiting import wait_for_clients
from tests.fakegrid import FakeGrid, Tamper
from tests.federation_run import SMALL, Run, federate
from tests.wire_parts import metrics_in, put_vector, vector_of


def initial_model(settings=SMALL) -> np.ndarray:
    """The vector before round 1."""
    return SharedState.initial(settings, (1, 8, 8), 10).to_vector()


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One undisturbed run."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    return federate(SMALL.replace(rounds=4), tmp_path_factory.mktemp("plain") / "run")


def test_it_learns_and_leaves_all_artefacts(plain: Run) -> None:
    names = {path.name for path in plain.path.iterdir()}
    assert names >= {"config.toml", "metrics.jsonl", "best", "final", "clients.csv", "partition.json", "summary.json"}
    assert plain.summary["status"] == "completed"
    assert plain.summary["accuracy"] > 0.9
    assert plain.records[-1]["train_loss"] < plain.records[0]["train_loss"]
    assert not np.array_equal(plain.model("final"), initial_model())


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
        assert set(record["seconds"]) == {"round", "train", "evaluate", "network", "gp"}
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


def test_sample_weights_change_the_average(plain: Run, tmp_path: Path) -> None:
    weighted = federate(SMALL.replace(rounds=4, aggregation="samples"), tmp_path / "weighted")
    assert weighted.summary["status"] == "completed"
    assert weighted.model("final").tobytes() != plain.model("final").tobytes()


def test_an_exception_in_one_client_leaves_the_run_alive_and_tells_only_its_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    real = pfedgp_core.methods.pfedgp.local_update

    def fails_for_one(state, data, settings, stream):
        if "client-02" in stream.path:
            raise ValueError("patient Miller in /data/ward-3")
        return real(state, data, settings, stream)

    monkeypatch.setattr("pfedgp_core.methods.pfedgp.local_update", fails_for_one)
    run = federate(SMALL.replace(clients_per_round=5, rounds=2), tmp_path / "run")
    assert run.summary["status"] == "completed"
    assert [r["failed"] for r in run.records] == [{"client-02": "ValueError"}] * 2
    assert [r["ok"] for r in run.records] == [4, 4]
    assert run.summary["failed_replies"] == 2
    kept = b"".join(path.read_bytes() for path in run.path.rglob("*") if path.is_file())
    assert b"Miller" not in kept and b"ward-3" not in kept
    printed = capfd.readouterr().out
    assert "client-02 (ValueError)" in printed and "Miller" not in printed


def with_vector(vector: np.ndarray) -> Tamper:
    """A tamper that puts `vector` in every update."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == "train":
            put_vector(reply, vector)
        return reply

    return tamper


def without_vector(request: Message, index: int, reply: Message) -> Message:
    if request.metadata.message_type == "train":
        del reply.content[CONFIG][SHARED]
    return reply


def without_metrics(request: Message, index: int, reply: Message) -> Message:
    if request.metadata.message_type == "train":
        del reply.content[CONFIG][METRICS]
    return reply


def metrics_that_are_no_json(request: Message, index: int, reply: Message) -> Message:
    if request.metadata.message_type == "train":
        reply.content[CONFIG][METRICS] = "{"
    return reply


def unknown_part(request: Message, index: int, reply: Message) -> Message:
    if request.metadata.message_type == "train":
        reply.content["more"] = ConfigRecord({})
    return reply


def text_for_vector(request: Message, index: int, reply: Message) -> Message:
    if request.metadata.message_type == "train":
        reply.content[CONFIG][SHARED] = "0" * 4 * SIZE
    return reply


def no_samples(request: Message, index: int, reply: Message) -> Message:
    if request.metadata.message_type == "train":
        with metrics_in(reply) as metrics:
            metrics["n_train"] = 0
    return reply


def too_many_samples(request: Message, index: int, reply: Message) -> Message:
    if request.metadata.message_type == "train":
        with metrics_in(reply) as metrics:
            metrics["n_train"] = 10**12
    return reply


def infinite_loss(request: Message, index: int, reply: Message) -> Message:
    if request.metadata.message_type == "train":
        with metrics_in(reply) as metrics:
            metrics["loss"] = float("inf")
    return reply


def other_name(request: Message, index: int, reply: Message) -> Message:
    if request.metadata.message_type == "train":
        reply.content[CONFIG]["client"] = "client-99"
    return reply


def garbage(request: Message, index: int, reply: Message) -> Message:
    if request.metadata.message_type == "train":
        reply.content[ARRAYS] = ArrayRecord({SHARED: Array("float32", (3,), "numpy.ndarray", b"not an array")})
    return reply


SIZE = initial_model().size
BAD = {
    "NaN or infinity": with_vector(np.full(SIZE, np.nan, np.float32)),
    "has shape": with_vector(np.zeros(SIZE - 1, np.float32)),
    "not float32": with_vector(np.zeros(SIZE, np.float64)),
    "cannot be read (ValueError)": garbage,
    "the shared vector cannot be read": text_for_vector,
    "malformed metrics": metrics_that_are_no_json,
    "an unknown part": unknown_part,
    "missing the shared vector": without_vector,
    "missing field": without_metrics,
    "not positive": no_samples,
    "where its greeting said": too_many_samples,
    "'loss' is not a finite number": infinite_loss,
    "another client's name": other_name,
}


@pytest.mark.parametrize("reason", BAD)
def test_bad_replies_are_dropped_and_named_and_the_old_model_survives(reason: str, tmp_path: Path) -> None:
    settings = SMALL.replace(rounds=2, clients_per_round=5, max_failed_rounds=3)
    run = federate(settings, tmp_path / "run", BAD[reason])
    for record in run.records:
        assert record["ok"] == 0 and record["update_norm"] is None
        assert sorted(record["failed"]) == [f"client-0{i}" for i in range(5)]
        assert all(reason in text for text in record["failed"].values())
    assert run.model("final").tobytes() == initial_model().tobytes()
    assert run.summary["status"] == "completed"


@pytest.mark.parametrize(
    ("value", "reason"), [(np.nan, "NaN or infinity"), (1e30, "implausibly large"), (-50.0, "implausibly large")]
)
def test_one_bad_reply_leaves_the_average_of_the_others(value: float, reason: str, tmp_path: Path) -> None:
    poison = with_vector(np.full(SIZE, value, np.float32))
    updates: list[np.ndarray] = []

    def tamper(request: Message, index: int, reply: Message) -> Message | None:
        if request.metadata.message_type == "train" and index != 3:
            updates.append(vector_of(reply))
        return poison(request, index, reply) if index == 3 else reply

    run = federate(SMALL.replace(rounds=1, clients_per_round=5), tmp_path / "run", tamper)
    assert list(run.records[0]["failed"]) == ["client-03"] and reason in run.records[0]["failed"]["client-03"]
    assert len(updates) == 4
    norms = [np.linalg.norm(update.astype(np.float64) - initial_model()) for update in updates]
    assert run.records[0]["update_norm"] == pytest.approx(np.median(norms), rel=1e-9)
    assert np.allclose(run.model("final"), np.mean(updates, axis=0, dtype=np.float64), rtol=0, atol=1e-7)


def test_too_few_good_replies_keep_the_model(tmp_path: Path) -> None:
    settings = SMALL.replace(rounds=2, clients_per_round=5, min_results=5, max_failed_rounds=3)
    run = federate(settings, tmp_path / "run", lambda q, i, r: without_vector(q, i, r) if i == 0 else r)
    assert [r["ok"] for r in run.records] == [4, 4]
    assert run.model("final").tobytes() == initial_model().tobytes()


def test_rounds_without_results_end_the_run(tmp_path: Path) -> None:
    settings = SMALL.replace(rounds=9, max_failed_rounds=2)
    with pytest.raises(RunFailedError, match=r"2 rounds in a row.*client-0\d: .*NaN"):
        federate(settings, tmp_path / "run", BAD["NaN or infinity"])
    run = Run(tmp_path / "run")
    assert len(run.records) == 2
    assert run.summary["status"] == "failed" and "client-0" in run.summary["reason"]


def test_a_lost_reply_costs_the_timeout_and_names_the_client(tmp_path: Path) -> None:
    settings = SMALL.replace(rounds=1, clients_per_round=5, round_timeout=1.0)

    def lose(request: Message, index: int, reply: Message) -> Message | None:
        return None if request.metadata.message_type == "train" and index == 1 else reply

    run = federate(settings, tmp_path / "run", lose)
    assert run.records[0]["failed"] == {"client-01": "no reply within 1 s"}
    assert run.records[0]["ok"] == 4


def test_single_class_clients_take_part_without_an_update(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pfedgp")
    settings = SMALL.replace(clients=10, classes_per_client=1, rounds=2, max_failed_rounds=1)
    run = federate(settings, tmp_path / "run")
    assert [(r["ok"], r["failed"], r["train_loss"]) for r in run.records] == [(3, {}, None)] * 2
    assert run.model("final").tobytes() == initial_model().tobytes()
    assert run.summary["accuracy"] == 1.0
    assert "no update (single class)" in caplog.text


def test_without_validation_data_the_best_model_is_the_final_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = pfedgp_core.data.simulated.client_data

    def without_validation(*arguments):
        data = real(*arguments)
        none = TensorSplit(data.validation.inputs[:0], data.validation.labels[:0])
        return dataclasses.replace(data, validation=none)

    pfedgp_core.data.simulated._client.cache_clear()
    monkeypatch.setattr(pfedgp_core.data.simulated, "client_data", without_validation)
    try:
        run = federate(SMALL.replace(rounds=2), tmp_path / "run")
    finally:
        pfedgp_core.data.simulated._client.cache_clear()
    assert run.model("best").tobytes() == run.model("final").tobytes()
    assert run.summary["best_round"] == 2 and run.summary["validation_accuracy"] is None
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
    assert Run(tmp_path / "run").model("best").size == SIZE


def test_an_unexpected_error_of_the_server_leaves_its_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import server.strategy

    def broken(*arguments):
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(server.strategy, "combine", broken)
    with pytest.raises(ZeroDivisionError):
        federate(SMALL, tmp_path / "run")
    assert "boom" in (tmp_path / "run" / "error.log").read_text()


def test_flowers_own_loop_can_drive_the_strategy(tmp_path: Path) -> None:
    from client.client_app import app
    from server.clients.roster import Roster
    from server.flower.messages import pack_vector, request_config
    from server.strategy import PFedGP

    grid = FakeGrid(app, SMALL.clients)
    roster = Roster(SMALL)
    wait_for_clients(roster, grid)
    result = PFedGP(SMALL, roster, SIZE).start(
        grid,
        pack_vector(initial_model()),
        num_rounds=2,
        train_config=request_config(SMALL, 1),
        evaluate_config=ConfigRecord(dict(request_config(SMALL, 1, "validation"))),
    )
    assert result.arrays[SHARED].numpy().shape == (SIZE,)
    assert set(result.evaluate_metrics_clientapp) == {1, 2}


def test_the_default_folder_is_below_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from flwr.app import Context, RecordDict

    from client.client_app import app
    from server.server_app import app as server_app

    monkeypatch.chdir(tmp_path)
    settings = SMALL.replace(rounds=1)
    server_app(FakeGrid(app, SMALL.clients), Context(1, 1, {}, RecordDict(), settings.to_run_config() | {"out": ""}))
    (folder,) = (tmp_path / "out").iterdir()
    assert folder.name.startswith("digits-full-") and (folder / "summary.json").is_file()


def test_a_request_that_expired_is_a_silence_and_its_client_is_not_asked_again(tmp_path: Path) -> None:
    # What a real SuperLink says at the deadline in a silent client's place.
    settings = SMALL.replace(rounds=2, clients_per_round=5, round_timeout=5.0)
    hung = False

    def hang(request: Message, index: int, reply: Message) -> Message | None:
        nonlocal hung
        if index != 1:
            return reply
        if request.metadata.message_type == "train":
            hung = True
            return Message(Error(code=3, reason="expired"), reply_to=request)
        return None if hung else reply

    run = federate(settings, tmp_path / "run", hang)
    first, second = run.records
    assert first["failed"] == {"client-01": "no reply within 5 s"}
    assert "client-01" in first["sampled"] and "client-01" not in second["sampled"]
    assert second["ok"] == 4 and not second["failed"] and not second["validation_failed"]
