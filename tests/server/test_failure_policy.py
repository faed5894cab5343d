"""What becomes of a run in which clients fail: it goes on or stops as the settings say, and the client is named."""

from pathlib import Path
from typing import Any

import pytest
from flwr.app import Error, Message

from pfedgp_core.errors import RunFailedError
from pfedgp_core.exchange import CONFIG, ROUND, TRAIN
from tests.fakegrid import FakeGrid, Tamper
from tests.federation_run import Run, federate, resume
from tests.uninterrupted import MODES, SETTINGS, same, uninterrupted, without_pictures


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


def fails_in(server_round: int, name: int) -> Tamper:
    """A tamper in which one client fails to train in one round."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        config = request.content.config_records[CONFIG]
        if (request.metadata.message_type, config[ROUND], index) == (TRAIN, server_round, name):
            return Message(Error(code=8, reason=""), reply_to=request)
        return reply

    return tamper


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_on_failure_stop_ends_the_run_before_the_round_counts(deployed: bool, tmp_path: Path) -> None:
    settings, out = SETTINGS.replace(on_failure="stop", clients_per_round=4), tmp_path / "run"
    with pytest.raises(RunFailedError, match=r"Round 3 .*client-01: the client process died.*stop.*after round 2 with"):
        federate(settings, out, fails_in(3, 1), deployed)
    run = Run(out)
    assert run.summary["status"] == "failed" and "pfedgp resume" in run.summary["reason"]
    assert run.summary["failures"] == {"client-01": {"the client process died": 1}}
    assert [r["ok"] for r in run.records] == [4, 4, 3]
    assert same(resume(out, deployed=deployed), uninterrupted(settings, deployed))


def test_on_failure_continue_goes_on_and_counts(tmp_path: Path) -> None:
    run = federate(SETTINGS.replace(clients_per_round=4), tmp_path / "run", fails_in(3, 1), deployed=True)
    assert run.summary["status"] == "completed"
    assert run.summary["failures"] == {"client-01": {"the client process died": 1}}


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_run_that_failed_rounds_ended_gets_its_tries_again(deployed: bool, tmp_path: Path) -> None:
    def nobody_trains(request: Message, index: int, reply: Message) -> Message:
        failed = Message(Error(code=8, reason=""), reply_to=request)
        return failed if request.metadata.message_type == TRAIN else reply

    settings, out = SETTINGS.replace(max_failed_rounds=2), tmp_path / "run"
    with pytest.raises(RunFailedError, match="2 rounds in a row"):
        federate(settings, out, nobody_trains, deployed)
    assert [record["round"] for record in Run(out).records] == [1, 2]
    run = resume(out, fails_in(3, 1), deployed)
    assert run.summary["status"] == "completed" and [r["ok"] > 0 for r in run.records] == [False, False, True, True]


class Late(FakeGrid):
    """Holds back every reply of one client until the next round."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.held: dict[str, Message] = {}

    def _deliver(self, message: Message) -> str:
        sent = super()._deliver(message)
        config = message.content.config_records[CONFIG]
        if message.metadata.message_type == TRAIN:
            if self.index(message.metadata.dst_node_id) == 1 and config[ROUND] == 1:
                self.held[sent] = self._replies.pop(sent)
            elif config[ROUND] == 2:
                self._replies |= self.held
        return sent

    def pull_messages(self, message_ids):
        return super().pull_messages([*message_ids, *(set(self.held) & set(self._replies))])


def test_a_reply_that_comes_a_round_too_late_is_ignored(tmp_path: Path) -> None:
    from client.client_app import app
    from tests.federation_run import start

    settings = SETTINGS.replace(clients_per_round=4, rounds=2, round_timeout=1.0)
    run = start(Late(app, settings.clients), settings, tmp_path / "late")
    assert run.records[0]["failed"] == {"client-01": "no reply within 1 s"}
    assert run.records[1]["ok"] == len(run.records[1]["sampled"]) and run.records[1]["failed"] == {}
