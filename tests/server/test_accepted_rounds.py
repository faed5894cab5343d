"""Every request names the last round in which its client's reply was accepted, and so do those of a resumed run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Message

import server.recorder
from client.client_app import app
from pfedgp_core.config import Settings
from pfedgp_core.wire.names import ACCEPTED, BEST, CONFIG, EVALUATE, ROUND, RUN, SPLIT, TRAIN
from server.clients.record import Client
from server.server_app import serve
from tests.fakegrid import FakeGrid, Tamper
from tests.federation_run import Run, federate, resume
from tests.killed import at_call, at_message, dies_at_file, killed
from tests.uninterrupted import MODES, SETTINGS, without_pictures
from tests.wire_parts import put_vector

pytestmark = pytest.mark.slow

# The fields of a request that say which of its states a client uses, by kind, round and client.
Named = dict[tuple[str, int, int], tuple[Any, Any, Any]]
FEW = SETTINGS.replace(rounds=4, evaluate_every=1)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


def noting(named: Named, then: Tamper | None = None) -> Tamper:
    """A tamper that notes what requests name."""

    def tamper(request: Message, index: int, reply: Message) -> Message | None:
        config, kind = request.content.config_records[CONFIG], request.metadata.message_type
        if kind in (TRAIN, EVALUATE):
            split = config[SPLIT] if kind == EVALUATE else ""
            named[f"{kind} {split}", int(config[ROUND]), index] = (config[RUN], config[ACCEPTED], config[BEST])
        return then(request, index, reply) if then else reply

    return tamper


def nan_from(client: int, server_round: int) -> Tamper:
    """A tamper by which one client's update in one round cannot be used."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        config = request.content.config_records[CONFIG]
        if (request.metadata.message_type, index, config[ROUND]) == (TRAIN, client, server_round):
            put_vector(reply, np.full(3, np.nan, np.float32))
        return reply

    return tamper


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_train_request_names_the_last_round_that_the_client_was_sampled_in(deployed: bool, tmp_path: Path) -> None:
    named: Named = {}
    run = federate(FEW, tmp_path / "run", noting(named), deployed)
    for (kind, t, index), (_, accepted, _) in named.items():
        if kind.startswith(TRAIN):
            before = [r["round"] for r in run.records[: t - 1] if f"client-0{index}" in r["sampled"]]
            assert accepted == max(before, default=0)


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_an_evaluate_request_names_no_round_after_its_model(deployed: bool, tmp_path: Path) -> None:
    named: Named = {}
    run = federate(FEW, tmp_path / "run", noting(named), deployed)
    for (kind, t, index), (_, accepted, _) in named.items():
        if kind.startswith(EVALUATE):
            up_to = [r["round"] for r in run.records if r["round"] <= t and f"client-0{index}" in r["sampled"]]
            assert accepted == max(up_to, default=0)


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_refused_reply_is_never_named(deployed: bool, tmp_path: Path) -> None:
    named: Named = {}
    settings = FEW.replace(clients_per_round=4, rounds=3)
    run = federate(settings, tmp_path / "run", noting(named, nan_from(1, 2)), deployed)
    assert "client-01" in run.records[1]["failed"]
    assert 2 not in {accepted for (_, _, index), (_, accepted, _) in named.items() if index == 1}


def test_a_request_names_the_round_of_the_best_model(tmp_path: Path) -> None:
    named: Named = {}
    run = federate(FEW, tmp_path / "run", noting(named))
    best = [max((r["round"] for r in run.records[:t] if r["best"]), default=0) for t in range(FEW.rounds)]
    assert {(t, b) for (kind, t, _), (_, _, b) in named.items() if kind.startswith(TRAIN)} == set(
        enumerate(best, start=1)
    )


KILLS = {
    "between rounds": lambda: dies_at_file("round-000002.safetensors", "replace", after=True),
    "within a round": lambda: at_message(TRAIN, 3),
    "after the replies, before the checkpoint": lambda: at_call(server.recorder, "write_checkpoint", 4),
}


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
@pytest.mark.parametrize("how", KILLS)
def test_a_resumed_run_names_what_an_uninterrupted_one_names(how: str, deployed: bool, tmp_path: Path) -> None:
    whole: Named = {}
    federate(FEW, tmp_path / "whole", noting(whole), deployed)
    kill, out = KILLS[how](), tmp_path / "run"
    if hasattr(kill, "__enter__"):
        with kill:
            killed(lambda: federate(FEW, out, None, deployed))
    else:
        killed(lambda: federate(FEW, out, kill, deployed))
    named: Named = {}
    resume(out, noting(named), deployed)
    assert named == {key: whole[key] for key in named}


def test_a_resumed_run_sends_train_requests(tmp_path: Path) -> None:
    """The comparison above would also hold if a resumed run asked nobody."""
    killed(lambda: federate(FEW, tmp_path / "run", at_message(TRAIN, 3)))
    named: Named = {}
    resume(tmp_path / "run", noting(named))
    assert {t for kind, t, _ in named if kind.startswith(TRAIN)} == {3, 4}


def test_two_runs_have_two_keys(tmp_path: Path) -> None:
    from flwr.app import Context, RecordDict

    keys = set()
    for run_id in (5, 6):
        named: Named = {}
        grid = FakeGrid(app, FEW.clients, noting(named))
        settings: Settings = FEW.replace(rounds=1)
        config = settings.to_run_config() | {"out": str(tmp_path / str(run_id))}
        serve(grid, Context(run_id, 1, {}, RecordDict(), dict(config)), grid.engine)
        keys |= {run for run, _, _ in named.values()}
    assert keys == {"5", "6"}


def test_a_client_is_asked_with_what_it_knew_at_a_model() -> None:
    client = Client(1, None, trained_in=[2, 3, 7])  # type: ignore[arg-type]
    assert [client.accepted(t) for t in (1, 2, 6, 9)] == [0, 2, 3, 7]


def test_the_run_is_named_by_its_first_id(tmp_path: Path) -> None:
    killed(lambda: federate(FEW, tmp_path / "run", at_message(TRAIN, 2)))
    run: Run = resume(tmp_path / "run")
    assert run.summary["run"]["run_id"] == "1"
