"""The exchange of messages, and what the server makes of Flower's errors."""

import logging
import subprocess
import sys

import pytest
from flwr.app import ConfigRecord, Error, Message, RecordDict
from flwr.clientapp import ClientApp

from pfedgp_core.config import Settings
from server.flower import messages
from server.flower.messages import exchange, push, request, request_config
from server.flower.reply_checks import error_reason
from tests.fakegrid import FakeGrid
from tests.waiting import FakeTime

echo = ClientApp()


@echo.train()
def train(message: Message, context: object) -> Message:
    """Answer with an empty message."""
    return Message(RecordDict(), reply_to=message)


def requests(grid: FakeGrid) -> list[Message]:
    """One train request to each node."""
    return [request("train", node, ConfigRecord({}), None, 5.0) for node in grid.get_node_ids()]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """The clock of an exchange."""
    fake = FakeTime()
    monkeypatch.setattr(messages, "time", fake)
    return fake


def test_all_replies_arrive_at_once(clock: FakeTime) -> None:
    grid = FakeGrid(echo, 20)
    assert len(list(exchange(grid, requests(grid), 5.0))) == 20
    assert clock.slept == []


def test_a_window_bounds_the_requests_under_way() -> None:
    class Narrow(FakeGrid):
        under_way, most = 0, 0

        def push_messages(self, messages):
            ids = list(super().push_messages(messages))
            self.under_way += len(ids)
            self.most = max(self.most, self.under_way)
            return ids

        def pull_messages(self, message_ids):
            replies = list(super().pull_messages(list(message_ids)[:2]))
            self.under_way -= len(replies)
            return replies

    grid = Narrow(echo, 20)
    replies = list(exchange(grid, requests(grid), 5.0, window=3))
    assert len({r.metadata.reply_to_message_id for r in replies}) == 20
    assert grid.most == 3


def test_a_missing_reply_costs_the_timeout_and_no_more(clock: FakeTime) -> None:
    grid = FakeGrid(echo, 3, lambda q, i, r: None if i == 1 else r)
    assert len(list(exchange(grid, requests(grid), 300.0))) == 2
    assert sum(clock.slept) == pytest.approx(300.0)


def test_nobody_to_ask_is_no_wait() -> None:
    assert list(exchange(FakeGrid(echo, 1), [], 60.0)) == []


def test_requests_that_the_grid_refuses_are_not_awaited() -> None:
    class Refusing(FakeGrid):
        def push_messages(self, messages):
            return [None for _ in super().push_messages(messages)]

    grid = Refusing(echo, 2)
    assert push(grid, requests(grid)) == []
    assert list(exchange(grid, requests(grid), 60.0)) == []


def test_requests_expire_with_the_timeout() -> None:
    assert request("train", 7, ConfigRecord({}), None, 12.5).metadata.ttl == 12.5


def test_a_request_carries_all_settings() -> None:
    import json

    settings = Settings(seed=5, rounds=7)
    assert Settings.from_run_config(json.loads(str(request_config(settings)["settings"]))) == settings


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (Error(2, "ValueError"), "ValueError"),
        (Error(2, "<class 'ValueError'>:<'patient 12'>"), "error 2 on the client"),
        (Error(2), "error 2 on the client"),
        (Error(5, "node 17 at 10.0.0.1"), "the client disconnected"),
        (Error(99, "x" * 100), "error 99 on the client"),
    ],
)
def test_only_type_names_of_client_errors_are_shown(error: Error, reason: str) -> None:
    assert error_reason(error) == reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "banned"),
    [
        ("server.server_app", ("torchvision", "matplotlib", "ray", "PIL")),
        ("client.client_app", ("torchvision", "matplotlib", "ray", "server")),
        ("pfedgp_core.wire.replies", ("flwr", "client", "server", "pfedgp")),
        ("pfedgp.local.simulation", ("flwr", "ray", "server", "torchvision")),
    ],
)
def test_imports_stay_light(module: str, banned: tuple[str, ...]) -> None:
    code = f"import {module}, sys; print(sorted({{m.split('.')[0] for m in sys.modules}} & set({banned!r})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_long_wait_says_for_whom(clock: FakeTime, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pfedgp")
    grid = FakeGrid(echo, 3, lambda q, i, r: None if i == 1 else r)
    list(exchange(grid, requests(grid), 100.0))
    assert not caplog.records
    names = {node: f"ward-{grid.index(node)}" for node in grid.get_node_ids()}
    list(exchange(grid, requests(grid), 100.0, names))
    said = [record.getMessage() for record in caplog.records]
    # Twice as long from line to line.
    assert said == [f"still waiting for ward-1 ({seconds} s)" for seconds in (20, 40, 80)]
