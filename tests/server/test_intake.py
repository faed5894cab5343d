"""Replies are taken one by one: none is fetched before the one before it was checked and its vector put away."""

import weakref
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from client.client_app import app as client_app
from pfedgp_core.learning import vector_store
from pfedgp_core.wire.names import TRAIN
from tests.fakegrid import FakeGrid
from tests.federation_run import SMALL, federate, start
from tests.uninterrupted import MODES, without_pictures

FIVE = SMALL.replace(clients_per_round=5, rounds=2)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


class Lazy(FakeGrid):
    """A grid that makes a reply when it is asked for, as a deployment's fetches it, and counts those still held."""

    most = 0

    def pull_messages(self, message_ids) -> Iterator[Message]:  # type: ignore[no-untyped-def, override]
        held: list[weakref.ref[Message]] = []
        ids = [message_id for message_id in message_ids if message_id in self._replies]
        for message_id in ids:
            reply = self._replies.pop(message_id)
            if reply.metadata.message_type == TRAIN:
                held.append(weakref.ref(reply))
            self.most = max(self.most, sum(ref() is not None for ref in held))
            yield reply
            del reply


def test_no_more_than_two_replies_are_held_at_a_time(tmp_path: Path) -> None:
    grid = Lazy(client_app, FIVE.clients, deployed=True)
    start(grid, FIVE, tmp_path / "run")
    # The one that was read last lives until the loop has the next.
    assert 1 <= grid.most <= 2


@pytest.mark.slow
@pytest.mark.parametrize("aggregation", ["uniform", "samples", "median", "trimmed-mean", "nearest"])
@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_updates_on_disk_give_the_model_of_updates_in_memory(
    aggregation: str, deployed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = FIVE.replace(aggregation=aggregation, trim_share=0.2)
    held = federate(settings, tmp_path / "held", deployed=deployed)
    monkeypatch.setattr(vector_store.VectorStore.__init__, "__defaults__", (None, 0))
    written = federate(settings, tmp_path / "written", deployed=deployed)
    assert written.model("final").tobytes() == held.model("final").tobytes()
    assert written.lasting == held.lasting


@pytest.mark.slow
def test_a_long_update_on_disk_is_shortened_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tests.server.test_influence import replaced

    held = federate(FIVE, tmp_path / "held", replaced(9.0))
    monkeypatch.setattr(vector_store.VectorStore.__init__, "__defaults__", (None, 0))
    written = federate(FIVE, tmp_path / "written", replaced(9.0))
    assert written.records[0]["clipped"].keys() == {"client-03"}
    assert written.model("final").tobytes() == held.model("final").tobytes()


def test_the_bytes_of_a_round_are_those_of_all_vectors(tmp_path: Path) -> None:
    run = federate(FIVE, tmp_path / "run")
    length = len(run.model("final"))
    assert [r["bytes_received"] for r in run.records] == [5 * np.dtype(np.float32).itemsize * length] * 2
