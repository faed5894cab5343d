"""What a federation makes of replies that are wrong, late or missing: the client is named, the model survives."""

import io
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, Error, Message

import pfedgp_core.methods.pfedgp
from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.names import ARRAYS, CONFIG, METRICS, SHARED
from tests.fakegrid import Tamper
from tests.federation_run import SMALL, Run, federate, initial_model
from tests.wire_parts import metrics_in, put_vector, vector_of

pytestmark = pytest.mark.slow


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


def archive(request: Message, index: int, reply: Message) -> Message:
    """Numpy reads an archive as something that is no array."""
    if request.metadata.message_type == "train":
        content = io.BytesIO()
        np.savez(content, shared=np.zeros(3, np.float32))
        reply.content[ARRAYS] = ArrayRecord({SHARED: Array("float32", (3,), "numpy.ndarray", content.getvalue())})
    return reply


SIZE = initial_model().size


BAD = {
    "NaN or infinity": with_vector(np.full(SIZE, np.nan, np.float32)),
    "has shape": with_vector(np.zeros(SIZE - 1, np.float32)),
    "not float32": with_vector(np.zeros(SIZE, np.float64)),
    "cannot be read (ValueError)": garbage,
    "the shared vector cannot be read (ValueError)": archive,
    "the shared vector cannot be read": text_for_vector,
    "malformed metrics": metrics_that_are_no_json,
    "an unknown part": unknown_part,
    "missing the shared vector": without_vector,
    "missing field": without_metrics,
    "not positive": no_samples,
    "where its greeting said": too_many_samples,
    "it holds Infinity, which is no number": infinite_loss,
    "another client's name": other_name,
}


@pytest.mark.parametrize("reason", BAD)
def test_bad_replies_are_dropped_and_named_and_the_old_model_survives(reason: str, tmp_path: Path) -> None:
    settings = SMALL.replace(rounds=2, clients_per_round=5, max_failed_rounds=3)
    run = federate(settings, tmp_path / "run", BAD[reason])
    for record in run.records:
        assert record["ok"] == 0
        assert record["update_norm"] is None
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

    run = federate(SMALL.replace(rounds=1, clients_per_round=5, clip_updates=0.0), tmp_path / "run", tamper)
    assert list(run.records[0]["failed"]) == ["client-03"]
    assert reason in run.records[0]["failed"]["client-03"]
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
    assert run.summary["status"] == "failed"
    assert "client-0" in run.summary["reason"]


def test_a_lost_reply_costs_the_timeout_and_names_the_client(tmp_path: Path) -> None:
    settings = SMALL.replace(rounds=1, clients_per_round=5, round_timeout=1.0)

    def lose(request: Message, index: int, reply: Message) -> Message | None:
        return None if request.metadata.message_type == "train" and index == 1 else reply

    run = federate(settings, tmp_path / "run", lose)
    assert run.records[0]["failed"] == {"client-01": "no reply within 1 s"}
    assert run.records[0]["ok"] == 4


def test_a_request_that_expired_is_a_silence_and_its_client_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.clients.waiting.RETURN_PATIENCE", 0.3)
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
    assert "client-01" in first["sampled"]
    assert "client-01" not in second["sampled"]
    assert second["ok"] == 4
    assert not second["failed"]
    assert not second["validation_failed"]


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
    assert b"Miller" not in kept
    assert b"ward-3" not in kept
    printed = capfd.readouterr().out
    assert "client-02 (ValueError)" in printed
    assert "Miller" not in printed
