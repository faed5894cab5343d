"""Clients get and send the inducing inputs of their own classes alone: fewer bytes, and no bit of a run is another."""

from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from client.messages import Request
from client.method import received
from pfedgp_core.config import Settings
from pfedgp_core.data.samples import ClientData, TensorSplit
from pfedgp_core.errors import DataError
from pfedgp_core.methods.base import Method
from pfedgp_core.methods.make import make_method
from pfedgp_core.methods.pfedgp import PFedGP
from pfedgp_core.wire.encodings import INT8, encoded_bytes
from pfedgp_core.wire.names import TRAIN
from server.downloads import Downloads
from tests.federation_run import SMALL, Run, federate
from tests.uninterrupted import MODES, without_pictures
from tests.wire_parts import put_vector

PER_CLASS = 4
INDUCING = SMALL.replace(variant="ip-data", inducing_per_class=PER_CLASS, local_epochs=2, evaluate_every=1)
SHAPE = (1, 8, 8)
ROWS = PER_CLASS * INDUCING.feature_dim  # values of a class
CLASSES, OWN = 10, 2


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


def method(settings: Settings = INDUCING) -> Method:
    return make_method(settings, SHAPE, CLASSES)


def size() -> int:
    return len(method().initial())


def without_bytes(run: Run) -> list[dict[str, object]]:
    return [{key: value for key, value in record.items() if key[:6] != "bytes_"} for record in run.lasting]


@pytest.mark.slow
@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
@pytest.mark.parametrize("variant", ["ip-data", "ip-compute"])
def test_a_run_has_the_bits_of_one_in_which_all_travels(
    variant: str, deployed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = INDUCING.replace(variant=variant)
    parts = federate(settings, tmp_path / "parts", deployed=deployed)
    monkeypatch.setattr(PFedGP, "own_places", lambda *_: None)
    all_of_it = federate(settings, tmp_path / "all", deployed=deployed)
    assert parts.model("final").tobytes() == all_of_it.model("final").tobytes()
    assert without_bytes(parts) == without_bytes(all_of_it)
    assert (parts.path / "clients.csv").read_text() == (all_of_it.path / "clients.csv").read_text()


@pytest.mark.slow
@pytest.mark.parametrize("aggregation", ["median", "nearest"])
def test_robust_averages_see_whole_vectors(aggregation: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = INDUCING.replace(aggregation=aggregation, clients_per_round=5, trim_share=0.2)
    parts = federate(settings, tmp_path / "parts")
    monkeypatch.setattr(PFedGP, "own_places", lambda *_: None)
    assert parts.model("final").tobytes() == federate(settings, tmp_path / "all").model("final").tobytes()


@pytest.mark.slow
def test_the_bytes_are_those_of_the_network_and_two_classes(tmp_path: Path) -> None:
    run = federate(INDUCING.replace(evaluate_every=3), tmp_path / "run")
    values = size() - (CLASSES - OWN) * ROWS
    assert [record["bytes_received"] for record in run.records] == [3 * 4 * values] * 3
    assert [record["bytes_sent"] for record in run.records[:2]] == [3 * 4 * values] * 2


def test_a_message_of_cifar10_has_the_bytes_that_the_documentation_says() -> None:
    cifar = make_method(Settings(dataset="cifar10", variant="ip-data"), (3, 32, 32), CLASSES)
    downloads = Downloads(cifar, cifar.initial())
    whole, own = downloads.of("a"), downloads.of("a", (2, 7))
    assert (whole.nbytes, own.nbytes) == (817_328, 548_528)


@pytest.mark.slow
def test_an_encoded_update_covers_these_values_too(tmp_path: Path) -> None:
    run = federate(INDUCING.replace(update_encoding=INT8), tmp_path / "run")
    values = size() - (CLASSES - OWN) * ROWS
    assert [record["bytes_received"] for record in run.records] == [3 * encoded_bytes(INT8, values)] * 3
    assert run.summary["failed_replies"] == 0


@pytest.mark.parametrize(
    "changes",
    [{"classes": "all"}, {"dp_noise": 1.0}, {"variant": "full"}, {"method": "local"}, {"method": "softmax-head"}],
)
def test_all_travels_where_all_is_needed(changes: dict[str, object]) -> None:
    assert method(INDUCING.replace(**changes)).own_places((0, 1)) is None


def test_all_travels_to_a_client_with_all_classes() -> None:
    assert method().own_places(range(CLASSES)) is None


def test_clients_of_the_same_classes_get_one_packed_vector() -> None:
    downloads = Downloads(method(), method().initial())
    assert downloads.of("a", (0, 3)) is downloads.of("b", (0, 3))
    assert downloads.of("a", (0, 3)) is not downloads.of("b", (0, 4))


@pytest.mark.slow
def test_a_reply_with_the_whole_vector_is_refused(tmp_path: Path) -> None:
    def tamper(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == TRAIN and index == 0:
            put_vector(reply, np.zeros(size(), np.float32))
        return reply

    run = federate(INDUCING.replace(rounds=1, clients_per_round=5), tmp_path / "run", tamper)
    assert f"has shape [{size()}]" in run.records[0]["failed"]["client-00"]


def test_the_decay_of_unread_values_takes_no_more_steps_than_an_update_has() -> None:
    downloads = Downloads(method(), method().initial())
    packed = downloads.of("a", (0, 1))
    part = packed.part(packed.vector)
    claimed, possible = (downloads.whole(packed, part, steps) for steps in (10**12, INDUCING.local_epochs))
    assert claimed.tobytes() == possible.tobytes()
    assert possible.tobytes() != packed.vector.tobytes()


def site(*labels: int) -> ClientData:
    import torch

    split = TensorSplit(torch.zeros(len(labels), *SHAPE), torch.tensor(labels))
    empty = TensorSplit(torch.zeros(0, *SHAPE), torch.tensor([], dtype=torch.int64))
    return ClientData("a", tuple("0123456789"), split, empty, empty)


def request(classes: tuple[int, ...], values: int) -> Request:
    return Request(INDUCING, vector=np.ones(values, np.float32), classes=classes)


def test_a_client_has_zeros_where_it_was_sent_nothing() -> None:
    arrived = received(request((2, 5), size() - (CLASSES - OWN) * ROWS), method(), site(2, 5))
    assert (arrived.vector == 0).sum() == (CLASSES - OWN) * ROWS
    assert arrived.part(arrived.vector).all()


@pytest.mark.parametrize(
    ("classes", "values", "labels", "reason"),
    [
        ((2, 5), 7, (2, 5), "does not fit the classes"),
        ((2, 5), None, (2, 5, 6), "greets it anew"),
        ((2, 10), None, (2,), "names class 10 where the federation has 10"),
    ],
)
def test_a_client_refuses_what_is_no_part_of_its_model(
    classes: tuple[int, ...], values: int | None, labels: tuple[int, ...], reason: str
) -> None:
    asked = request(classes, values or size() - (CLASSES - OWN) * ROWS)
    with pytest.raises(DataError, match=reason):
        received(asked, method(), site(*labels))
