"""The SuperLink may be away for a while: the run waits, says so, and ends with a sentence where it stays away."""

import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from flwr.app import ConfigRecord
from flwr.supercore.inflatable.inflatable_utils import ObjectPushError

from client.client_app import app
from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.carried import OBJECTS_FOLDER
from server.flower import grid as patient_grid
from server.flower.grid import PatientGrid
from server.flower.messages import request
from server.flower.patches import guarded
from tests.fakegrid import FakeGrid
from tests.federation_run import SMALL, federate, start
from tests.waiting import FakeTime


def answer(status: int) -> httpx.HTTPStatusError:
    """What a call raises that was answered with a status."""
    return httpx.HTTPStatusError("", request=httpx.Request("POST", "http://x"), response=httpx.Response(status))


class Shaky(FakeGrid):
    """Fails now and then, as the connection to a SuperLink does that is being started again."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.calls = self.failed = 0
        self.lost_after: list[str] = []

    def _shake(self) -> None:
        self.calls += 1
        if self.calls % 3 == 0:
            self.failed += 1
            raise (
                httpx.ConnectError("refused"),
                answer(502),
                ObjectPushError("object", 1, "session"),
            )[self.failed % 3]

    def get_node_ids(self) -> list[int]:
        self._shake()
        return [node for node in self.contexts if self.index(node) not in self.offline]

    def push_messages(self, messages):
        messages = list(messages)
        sent = super().push_messages([m for m in messages if m.metadata.message_id not in self.lost_after])
        # What it had taken before it could not say so is refused when it comes again.
        answer = [m.metadata.message_id if m.metadata.message_id in sent else None for m in messages]
        self.lost_after += sent
        self._shake()
        return answer

    def _deliver(self, message):
        self.sent.append(message)
        self._replies[message.metadata.message_id] = self.app(message, self.contexts[message.metadata.dst_node_id])
        return message.metadata.message_id

    def pull_messages(self, message_ids):
        self._shake()
        return super().pull_messages(message_ids)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patient_grid, "RETRY_WAIT", 0.01)


@pytest.mark.slow
def test_a_run_outlives_a_connection_that_fails_again_and_again(tmp_path: Path) -> None:
    grid = Shaky(app, SMALL.clients, deployed=True)
    run = start(grid, SMALL, tmp_path / "shaky")
    assert grid.failed > 5
    assert run.summary["failed_replies"] == 0
    assert run.lasting == federate(SMALL, tmp_path / "calm", deployed=True).lasting


class Away(FakeGrid):
    """A grid without a SuperLink behind it."""

    def get_node_ids(self) -> list[int]:
        raise httpx.ConnectError("refused")


def test_a_superlink_that_stays_away_ends_the_run(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(patient_grid, "time", FakeTime())
    monkeypatch.setattr(patient_grid, "RETRY_WAIT", 1.0)
    caplog.set_level(logging.WARNING, "pfedgp")
    with pytest.raises(RunFailedError, match=r"SuperLink has not answered for 601 s \(ConnectError\): start it again"):
        PatientGrid(Away(app, 2)).get_node_ids()
    # After 2 s, and then every 20 s.
    assert caplog.text.count("the SuperLink does not answer (ConnectError), trying on") == 30


class Blinking(FakeGrid):
    """Away at the first calls, and then there."""

    def __init__(self, *arguments: Any, fails: int, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.fails = fails

    def get_node_ids(self) -> list[int]:
        if self.fails:
            self.fails -= 1
            raise httpx.ConnectError("refused")
        return list(self.contexts)


@pytest.mark.parametrize(("fails", "said"), [(1, False), (4, True)])
def test_only_a_superlink_that_was_called_away_is_called_back(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, fails: int, said: bool
) -> None:
    monkeypatch.setattr(patient_grid, "time", FakeTime())
    monkeypatch.setattr(patient_grid, "RETRY_WAIT", 1.0)
    caplog.set_level(logging.WARNING, "pfedgp")
    PatientGrid(Blinking(app, 2, fails=fails)).get_node_ids()
    assert ("does not answer" in caplog.text, "is back" in caplog.text) == (said, said)


@pytest.mark.slow
def test_flowers_own_retries_get_a_word_and_an_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from flwr.superlink.grid.http_grid import HttpGrid

    monkeypatch.setattr(patient_grid, "GIVE_UP_AFTER", 3.0)  # its first waits are of up to a second
    monkeypatch.setattr(patient_grid, "LOG_INTERVAL", 0.1)
    caplog.set_level(logging.WARNING, "pfedgp")
    grid = guarded(HttpGrid("127.0.0.1:9", insecure=True, token="none"))
    with pytest.raises(RunFailedError, match=r"SuperLink has not answered .*Connect"):
        grid.get_node_ids()
    assert "the SuperLink does not answer" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "free", "said"),
    [
        (ObjectPushError("object", 1, "session"), 1000, "(1.0 kB are free on the disk of {folder}): make room there."),
        (ObjectPushError("object", 1, "session"), 10**12, "(ObjectPushError): its log says why, make room if its disk"),
        (answer(500), 1000, "(1.0 kB are free on the disk of {folder}): make room there."),
        (answer(500), 10**12, "(HTTPStatusError): its log says why"),
    ],
)
def test_a_superlink_that_takes_nothing_is_not_called_away(
    error: Exception,
    free: int,
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Full(FakeGrid):
        def push_messages(self, messages):
            raise error

    monkeypatch.setattr(patient_grid, "time", FakeTime())
    monkeypatch.setenv(OBJECTS_FOLDER, str(tmp_path))
    monkeypatch.setattr(patient_grid.shutil, "disk_usage", lambda folder: SimpleNamespace(free=free))
    caplog.set_level(logging.WARNING, "pfedgp")
    with pytest.raises(RunFailedError) as ended:
        PatientGrid(Full(app, 2)).push_messages([])
    expected = said.format(folder=tmp_path)
    assert "The SuperLink has answered with errors for 60" in str(ended.value)
    assert expected in str(ended.value)
    assert f"the SuperLink answers with errors {expected.partition(':')[0]}, trying on" in caplog.text


@pytest.mark.slow
def test_a_proxy_before_a_superlink_that_is_away_takes_nothing_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Behind(FakeGrid):
        def push_messages(self, messages):
            raise answer(502)

    monkeypatch.setattr(patient_grid, "time", FakeTime())
    with pytest.raises(RunFailedError, match="has not answered"):
        PatientGrid(Behind(app, 2)).push_messages([])


def test_other_errors_are_not_tried_again() -> None:
    class Broken(FakeGrid):
        def get_node_ids(self) -> list[int]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        PatientGrid(Broken(app, 2)).get_node_ids()


def test_all_else_is_passed_on() -> None:
    grid = FakeGrid(app, 2)
    assert PatientGrid(grid).contexts is grid.contexts


def test_flowers_own_way_to_ask_takes_ours() -> None:
    class Two(FakeGrid):
        def pull_messages(self, message_ids):
            return [reply for reply in super().pull_messages(message_ids) for _ in range(2)]

    requests = [request("query", node, ConfigRecord({}), None, 60.0) for node in Two(app, 2).contexts]
    replies = PatientGrid(Two(app, 2, deployed=True)).send_and_receive(requests, timeout=30.0)
    assert len(list(replies)) == 2
