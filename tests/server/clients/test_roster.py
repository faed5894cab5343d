"""Who takes part: greetings, refusals, waiting, late and returning clients."""

import logging
import threading
from pathlib import Path

import pytest
from flwr.app import Error, Message

from client.client_app import app
from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.names import CONFIG
from server.clients import roster as roster_module
from server.clients import waiting
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from server.flower import messages
from tests.fakegrid import FakeGrid
from tests.federation_run import SMALL, Run, start
from tests.waiting import FakeTime
from tests.wire_parts import greets_with


def test_all_clients_of_a_simulated_data_set_are_awaited() -> None:
    roster = Roster(SMALL)
    wait_for_clients(roster, FakeGrid(app, 5))
    assert [client.name for client in roster.all] == [f"client-0{i}" for i in range(5)]
    assert roster.reference.input_shape == (1, 8, 8)
    assert roster.reference.partition_hash


def test_a_missing_client_ends_the_wait_with_the_names_of_those_present() -> None:
    grid = FakeGrid(app, 5)
    grid.offline = {3}
    with pytest.raises(RunFailedError, match=r"4 of 5 clients are ready \(client-00, .*client-04\) after 0.5 s"):
        wait_for_clients(Roster(SMALL.replace(wait_timeout=0.5)), grid)


def test_the_log_says_why_the_run_waits(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeTime()
    for module in (waiting, messages):
        monkeypatch.setattr(module, "time", clock)
    caplog.set_level(logging.INFO, "pfedgp")
    grid = FakeGrid(app, 5)
    grid.offline = {0, 3}
    with pytest.raises(RunFailedError):
        wait_for_clients(Roster(SMALL.replace(wait_timeout=150.0)), grid)
    assert "waiting: 3 of 5 clients are ready (client-01, client-02, client-04); the run ends in 2 min" in caplog.text
    assert "unless 2 more can take part" in caplog.text
    assert "min-clients" not in caplog.text  # a simulation needs all of its clients
    lines = [record.getMessage() for record in caplog.records if record.getMessage().startswith("waiting: ")]
    assert len(lines) == len(set(lines))  # what has not changed is not said again


@pytest.mark.slow
def test_a_resumed_simulation_waits_for_all_however_slowly_they_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "RESUME_PATIENCE", 0.0)
    settings = SMALL.replace(min_results=1, wait_timeout=0.6)
    before = Roster(settings)
    wait_for_clients(before, FakeGrid(app, 5))
    slow, after = FakeGrid(app, 5), Roster(settings.replace(wait_timeout=60.0))
    slow.offline = {0, 1, 3}
    threading.Timer(0.5, slow.offline.clear).start()
    after.adopt_state(before.to_state())
    wait_for_clients(after, slow)
    assert len(after.online()) == 5
    slow.offline = {0, 1, 2, 3}
    wait_for_clients(after, slow)  # in later rounds min-results are enough, as they are without an interruption

    never, after = FakeGrid(app, 5), Roster(settings)
    never.offline = {3}
    after.adopt_state(before.to_state())
    with pytest.raises(RunFailedError, match=r"4 of 5 clients are ready .*missing: client-03"):
        wait_for_clients(after, never)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"name": "client-00"}, "Two connected clients are named 'client-00'"),
        ({"partition_hash": "0" * 64}, "do not share one partition"),
        ({"class_names": list("abcdefghij")}, "different class lists"),
        ({"input_shape": [3, 8, 8]}, "inputs of shape"),
    ],
)
def test_a_simulation_waits_for_all_its_clients_and_names_the_one_that_does_not_belong(
    changes: dict, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(RunFailedError, match=rf"4 of 5 clients are ready .*{reason}"):
        wait_for_clients(Roster(SMALL.replace(wait_timeout=0.3)), FakeGrid(app, 5, greets_with(1, **changes)))
    assert reason in caplog.text


def test_where_no_majority_belongs_together_the_run_ends_before_it_starts() -> None:
    settings = SMALL.replace(clients=2, clients_per_round=2, partition="homogeneous")
    with pytest.raises(RunFailedError, match="do not share one partition"):
        wait_for_clients(Roster(settings), FakeGrid(app, 2, greets_with(1, partition_hash="0" * 64)))


@pytest.mark.parametrize("field", [{"name": ""}, {"name": "a\nb"}, {"classes": [99]}, {"n_test": -1}, {"versions": 3}])
def test_a_malformed_greeting_is_no_client(field: dict) -> None:
    with pytest.raises(RunFailedError, match=r"4 of 5 clients are ready.*1 cannot take part"):
        wait_for_clients(Roster(SMALL.replace(wait_timeout=0.3)), FakeGrid(app, 5, greets_with(1, **field)))


def test_a_wrong_number_of_nodes_is_found_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(waiting, "BROKEN_PATIENCE", 0.2)
    with pytest.raises(RunFailedError, match=r"None of the 2 connected clients.*ConfigError.*clients take part, 5"):
        wait_for_clients(Roster(SMALL.replace(wait_timeout=60.0)), FakeGrid(app, 2))


@pytest.mark.slow
def test_an_unavailable_node_is_greeted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster_module, "RETRY_AFTER", 0.1)
    answered: list[int] = []

    def first_time_unavailable(request: Message, index: int, reply: Message) -> Message:
        answered.append(index)
        if index == 2 and answered.count(2) == 1:
            return Message(Error(code=5, reason=""), reply_to=request)
        return reply

    roster = Roster(SMALL)
    wait_for_clients(roster, FakeGrid(app, 5, first_time_unavailable))
    assert len(roster.all) == 5
    assert answered.count(2) == 2


class Churn(FakeGrid):
    """Changes who is connected before given rounds."""

    def __init__(self, settings: Settings, plan: dict[int, object]) -> None:
        super().__init__(app, settings.clients)
        self.plan, self.waits = plan, 0

    def push_messages(self, messages):
        messages = list(messages)
        if messages and messages[0].metadata.message_type == "train":
            self.plan.get(messages[0].content[CONFIG]["round"], lambda: None)()
        return super().push_messages(messages)


@pytest.mark.slow
def test_a_client_that_leaves_and_returns_with_a_new_node_id_keeps_its_row(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "pfedgp")
    settings = SMALL.replace(rounds=3, clients_per_round=5, evaluate_every=3)
    grid = Churn(settings, {})
    nodes = list(grid.contexts)

    def leave() -> None:
        grid.offline = {2}

    def come_back() -> None:
        del grid.contexts[nodes[2]]
        grid.offline = set()
        grid.add_node({"partition-id": 2, "num-partitions": 5})

    grid.plan = {1: leave, 2: come_back}
    run = start(grid, settings, tmp_path / "run")
    assert [len(record["sampled"]) for record in run.records] == [5, 4, 5]
    assert run.records[0]["failed"] == {"client-02": "the client disconnected"}
    assert "client-02 is back" in caplog.text
    assert run.summary["clients"] == 5
    assert run.summary["missing_clients"] == {}


@pytest.mark.slow
def test_a_namesake_that_joins_later_is_refused_and_the_run_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = SMALL.replace(rounds=3)
    grid = Churn(settings, {})
    grid.plan = {1: lambda: grid.add_node({"partition-id": 2, "num-partitions": 5})}
    run = start(grid, settings, tmp_path / "run")
    said = [r for r in caplog.records if "Two connected clients are named 'client-02'" in r.getMessage()]
    assert [r.name for r in said] == ["pfedgp.server", "pfedgp.client"]  # once on either side
    assert run.summary["clients"] == 5


@pytest.mark.slow
def test_a_client_that_crashed_and_came_back_before_its_former_node_vanished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(roster_module, "RETRY_AFTER", 0.0)
    caplog.set_level(logging.INFO, "pfedgp")
    settings = SMALL.replace(rounds=4, clients_per_round=5)
    grid = Churn(settings, {})
    former = list(grid.contexts)[2]
    grid.plan = {
        1: lambda: grid.add_node({"partition-id": 2, "num-partitions": 5}),
        3: lambda: grid.contexts.pop(former),
    }
    run = start(grid, settings, tmp_path / "run")
    assert "client-02 is back" in caplog.text
    assert run.records[-1]["ok"] == 5


@pytest.mark.slow
def test_a_federation_that_everybody_left_ends(tmp_path: Path) -> None:
    settings = SMALL.replace(rounds=9, wait_timeout=1.0)
    grid = Churn(settings, {})
    grid.plan = {2: lambda: setattr(grid, "offline", set(range(5)))}
    with pytest.raises(RunFailedError, match="0 of 1 clients are ready after 1 s"):
        start(grid, settings, tmp_path / "run")
    assert Run(tmp_path / "run").summary["status"] == "failed"


def test_clients_that_are_starting_are_no_reason_to_speak_of_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    roster = Roster(SMALL.replace(wait_timeout=150.0))
    monkeypatch.setattr(roster, "starting", lambda: 5)
    assert waiting._prospect(roster, 3, 0.0) == "it goes on as soon as they answer, for which they have 2 min"
    monkeypatch.setattr(roster, "starting", lambda: 2)
    assert waiting._prospect(roster, 3, 0.0) == "the run ends in 2 min unless 3 more can take part"
