"""``update-encoding``: updates of half and a quarter of the bytes, with all checks on what they decode to."""

from pathlib import Path

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, Message

from client.state import KEPT_FOLDER
from pfedgp_core.learning.influence import update_norm
from pfedgp_core.wire.encodings import encode_update, encoded_bytes
from pfedgp_core.wire.layout import SHARED_TYPE
from pfedgp_core.wire.names import ARRAYS, CONFIG, SHARED, TRAIN
from tests.fakegrid import Tamper
from tests.federation_run import SMALL, federate, initial_model, resume
from tests.killed import at_message, killed
from tests.uninterrupted import MODES, SETTINGS, same, without_pictures

FIVE = SMALL.replace(clients_per_round=5, rounds=2)
SHORT = ["float16", "int8"]
SIZE = len(initial_model())
encodings = pytest.mark.parametrize("encoding", SHORT)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


def from_one(change: dict[str, object]) -> Tamper:
    """A tamper by which client 3 sends other fields."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == TRAIN and index == 3:
            for key, value in change.items():
                reply.content[CONFIG][key] = value
        return reply

    return tamper


@pytest.mark.slow
@encodings
def test_the_bytes_of_a_round_are_as_many_as_said(encoding: str, tmp_path: Path) -> None:
    run = federate(FIVE.replace(update_encoding=encoding), tmp_path / "run")
    assert [r["bytes_received"] for r in run.records] == [5 * encoded_bytes(encoding, SIZE)] * 2
    assert run.summary["failed_replies"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(("encoding", "most"), [("float16", 1e-3), ("int8", 5e-2)])
def test_one_round_ends_where_float32_ends_but_for_the_error(encoding: str, most: float, tmp_path: Path) -> None:
    one = FIVE.replace(rounds=1)
    exact = federate(one, tmp_path / "exact").model("final")
    short = federate(one.replace(update_encoding=encoding), tmp_path / "short").model("final")
    assert 0 < update_norm(exact, short) < most * update_norm(initial_model(), exact)


@pytest.mark.slow
@encodings
@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_killed_run_ends_with_the_same_bits(
    encoding: str, deployed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = SETTINGS.replace(update_encoding=encoding, clients_per_round=4)
    monkeypatch.setenv(KEPT_FOLDER, str(tmp_path / "kept-whole"))
    whole = federate(settings, tmp_path / "whole", deployed=deployed)
    monkeypatch.setenv(KEPT_FOLDER, str(tmp_path / "kept"))
    killed(lambda: federate(settings, tmp_path / "run", at_message(TRAIN, 3), deployed))
    assert same(resume(tmp_path / "run", deployed=deployed), whole)


@pytest.mark.slow
@encodings
@pytest.mark.parametrize("aggregation", ["median", "trimmed-mean"])
def test_robust_averages_are_of_what_was_decoded(aggregation: str, encoding: str, tmp_path: Path) -> None:
    settings = FIVE.replace(update_encoding=encoding, aggregation=aggregation, trim_share=0.2, rounds=1)
    exact = federate(settings.replace(update_encoding="float32"), tmp_path / "exact").model("final")
    short = federate(settings, tmp_path / "short").model("final")
    assert update_norm(exact, short) < 0.1 * update_norm(initial_model(), exact)


@pytest.mark.slow
@encodings
@pytest.mark.parametrize(("factor", "outcome"), [(9.0, "clipped"), (100.0, "failed")])
def test_a_long_update_is_measured_as_it_is_decoded(encoding: str, factor: float, outcome: str, tmp_path: Path) -> None:
    usual = federate(FIVE.replace(rounds=1), tmp_path / "usual").records[0]["usual_norm"]
    scale = np.float32(factor * usual / update_norm(np.zeros(SIZE, np.float32), np.full(SIZE, 0.01, np.float32)))
    away = encode_update(scale * np.full(SIZE, 0.01, np.float32), encoding)
    run = federate(FIVE.replace(update_encoding=encoding, rounds=1), tmp_path / "run", from_one({SHARED: away.data}))
    assert list(run.records[0][outcome]) == ["client-03"]


HOSTILE = {
    "cut": (b"\0" * 10, "10 bytes are no {} update of {} values"),
    "empty": (b"", "0 bytes are no {} update of {} values"),
    "long": (b"\0" * 1_000_000, "1000000 bytes are no {} update of {} values"),
}


@pytest.mark.slow
@encodings
@pytest.mark.parametrize(("data", "reason"), HOSTILE.values(), ids=HOSTILE)
def test_other_bytes_cost_their_sender_its_place(encoding: str, data: bytes, reason: str, tmp_path: Path) -> None:
    run = federate(FIVE.replace(update_encoding=encoding), tmp_path / "run", from_one({SHARED: data}))
    assert [r["failed"] for r in run.records] == [{"client-03": reason.format(encoding, SIZE)}] * 2


@encodings
def test_a_scale_that_is_none_costs_its_sender_its_place(encoding: str, tmp_path: Path) -> None:
    data = b"\xff" * encoded_bytes(encoding, SIZE)
    run = federate(FIVE.replace(update_encoding=encoding), tmp_path / "run", from_one({SHARED: data}))
    reason = f"the scale of an {encoding} update is no finite number from 0"
    assert [r["failed"] for r in run.records] == [{"client-03": reason}] * 2


def test_infinity_within_float16_costs_its_sender_its_place(tmp_path: Path) -> None:
    data = np.float32(1.0).tobytes() + np.full(SIZE, np.inf, "<f2").tobytes()
    run = federate(FIVE.replace(update_encoding="float16"), tmp_path / "run", from_one({SHARED: data}))
    assert [r["failed"] for r in run.records] == [{"client-03": "the update holds NaN or infinity"}] * 2


@encodings
def test_another_encoding_than_asked_for_is_named(encoding: str, tmp_path: Path) -> None:
    run = federate(FIVE.replace(update_encoding=encoding), tmp_path / "run", from_one({SHARED_TYPE: "<f4"}))
    assert [r["failed"] for r in run.records] == [{"client-03": f"the update is '<f4', not {encoding}"}] * 2


@pytest.mark.slow
@encodings
def test_a_large_update_is_a_part_of_its_own(encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = federate(FIVE.replace(update_encoding=encoding), tmp_path / "small")
    monkeypatch.setattr("pfedgp_core.wire.layout.PACKED_LIMIT", 1000)
    large = federate(FIVE.replace(update_encoding=encoding), tmp_path / "large")
    assert large.model("final").tobytes() == small.model("final").tobytes()


def test_a_large_part_of_another_type_is_named(tmp_path: Path) -> None:
    def tamper(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == TRAIN and index == 3:
            reply.content[ARRAYS] = ArrayRecord({SHARED: Array(np.zeros(SIZE, np.float32))})
        return reply

    run = federate(FIVE.replace(update_encoding="int8"), tmp_path / "run", tamper)
    assert [r["failed"] for r in run.records] == [{"client-03": "the update is float32, not the bytes of int8"}] * 2


def test_a_method_whose_uploads_are_no_updates_sends_all_bits(tmp_path: Path) -> None:
    from tests.server.test_method_at_the_server import LEDGER

    run = federate(LEDGER.replace(rounds=1, update_encoding="int8"), tmp_path / "run")
    assert run.records[0]["failed"] == {}
