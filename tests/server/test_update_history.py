"""A single huge update in a round of few replies: refused by what former rounds were like, also after a resume."""

from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from pfedgp_core.wire.names import CONFIG, ROUND, TRAIN
from tests.fakegrid import Tamper
from tests.federation_run import SMALL, federate, resume
from tests.uninterrupted import without_pictures
from tests.wire_parts import put_vector, vector_of

pytestmark = pytest.mark.slow

TWO = SMALL.replace(clients=2, classes_per_client=5, clients_per_round=2, rounds=3)
REFUSED = {"client-01": "the update's norm is implausibly large"}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


def huge_in(server_round: int, factor: float) -> Tamper:
    """A tamper in which client 1 sends a multiple of the model in one round."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        kind, config = request.metadata.message_type, request.content.config_records[CONFIG]
        if kind == TRAIN and index == 1 and config[ROUND] == server_round:
            put_vector(reply, np.float32(factor) * vector_of(request))
        return reply

    return tamper


@pytest.mark.parametrize("server_round", [1, 2])
def test_a_huge_update_is_refused_where_two_reply_and_nobody_else_is_blamed(server_round: int, tmp_path: Path) -> None:
    run = federate(TWO, tmp_path / "run", huge_in(server_round, 990.0))
    assert [record["failed"] for record in run.records] == [REFUSED if t == server_round else {} for t in (1, 2, 3)]
    assert np.abs(run.model("final")).max() < 100


def test_a_run_that_goes_on_remembers_what_updates_were_like(tmp_path: Path) -> None:
    settings = TWO.replace(max_update_norm=5.0)
    before = federate(settings, tmp_path / "run")
    assert not any(record["failed"] for record in before.records)
    # Within what a first round may send, 10 times the norm of the model.
    after = resume(tmp_path / "run", huge_in(4, 9.0), rounds=4)
    assert after.records[-1]["failed"] == REFUSED


def test_noise_is_not_held_against_the_model_or_former_rounds(tmp_path: Path) -> None:
    run = federate(TWO.replace(rounds=1, dp_noise=5.0, dp_clip=10.0), tmp_path / "run")
    assert not any(record["failed"] for record in run.records)
