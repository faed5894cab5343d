"""What becomes of a run in which clients fail: it goes on or stops as the settings say, and the client is named."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Error, Message

from pfedgp_core.config import Settings
from pfedgp_core.errors import ArtefactError, DataError, NonFiniteError, PFedGPError, RunFailedError
from pfedgp_core.methods import base
from pfedgp_core.wire.names import CONFIG, METRICS, ROUND, SPLIT, TRAIN
from server.failure_policy import FailurePolicy
from server.flower.reply_checks import Checked
from tests.fakegrid import FakeGrid, Tamper
from tests.federation_run import Run, federate, resume
from tests.uninterrupted import MODES, SETTINGS, same, uninterrupted, without_pictures
from tests.wire_parts import metrics_in


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


@pytest.mark.slow
@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_on_failure_stop_ends_the_run_before_the_round_counts(deployed: bool, tmp_path: Path) -> None:
    settings, out = SETTINGS.replace(on_failure="stop", clients_per_round=4), tmp_path / "run"
    with pytest.raises(RunFailedError, match=r"Round 3 .*client-01: the client process died.*stop.*after round 2 with"):
        federate(settings, out, fails_in(3, 1), deployed)
    run = Run(out)
    assert run.summary["status"] == "failed"
    assert "pfedgp resume" in run.summary["reason"]
    assert run.summary["failures"] == {"client-01": {"the client process died": 1}}
    assert [r["ok"] for r in run.records] == [4, 4, 3]
    assert same(resume(out, deployed=deployed), uninterrupted(settings, deployed))


@pytest.mark.slow
@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_on_failure_stop_is_for_the_last_test_too(deployed: bool, tmp_path: Path) -> None:
    def cannot_test(request: Message, index: int, reply: Message) -> Message:
        failed = index == 1 and request.content.config_records[CONFIG].get(SPLIT) == "test"
        return Message(Error(code=8, reason=""), reply_to=request) if failed else reply

    settings, out = SETTINGS.replace(on_failure="stop"), tmp_path / "run"
    with pytest.raises(RunFailedError, match=r"test of the best model .*client-01: the client process died.*stop"):
        federate(settings, out, cannot_test, deployed)
    assert Run(out).summary["status"] == "failed"
    assert same(resume(out, deployed=deployed), uninterrupted(settings, deployed))


@pytest.mark.slow
def test_on_failure_continue_goes_on_and_counts(tmp_path: Path) -> None:
    run = federate(SETTINGS.replace(clients_per_round=4), tmp_path / "run", fails_in(3, 1), deployed=True)
    assert run.summary["status"] == "completed"
    assert run.summary["failures"] == {"client-01": {"the client process died": 1}}


@pytest.mark.slow
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
    assert run.summary["status"] == "completed"
    assert [r["ok"] > 0 for r in run.records] == [False, False, True, True]


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


@pytest.mark.slow
def test_a_reply_that_comes_a_round_too_late_is_ignored(tmp_path: Path) -> None:
    from client.client_app import app
    from tests.federation_run import start

    settings = SETTINGS.replace(clients_per_round=4, rounds=2, round_timeout=1.0)
    run = start(Late(app, settings.clients), settings, tmp_path / "late")
    assert run.records[0]["failed"] == {"client-01": "no reply within 1 s"}
    assert run.records[1]["ok"] == len(run.records[1]["sampled"])
    assert run.records[1]["failed"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("kind", [DataError, NonFiniteError, ArtefactError])
def test_whatever_error_ends_a_run_leaves_its_reason_and_the_way_on(
    kind: type[PFedGPError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, combine = [], base.combine

    def breaks(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise kind("The third average broke.")
        return combine(*arguments)

    settings, out = SETTINGS.replace(clients_per_round=4), tmp_path / "run"
    monkeypatch.setattr(base, "combine", breaks)
    ending = ArtefactError if kind is ArtefactError else RunFailedError
    with pytest.raises(ending, match=r"The third average broke\. Go on after round 2 with: pfedgp resume"):
        federate(settings, out, deployed=True)
    summary = Run(out).summary
    assert summary["status"] == "failed"
    assert "third average broke" in summary["reason"]
    assert f"after round 2 with: pfedgp resume {out}" in summary["reason"]
    assert same(resume(out, deployed=True), uninterrupted(settings, True))


def a_reply(change: Callable[[dict[str, Any]], None]) -> Tamper:
    """A tamper that changes the metrics of every reply of one client."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if index == 2 and METRICS in reply.content.config_records.get(CONFIG, {}):
            with metrics_in(reply) as metrics:
                change(metrics)
        return reply

    return tamper


def wrapped(metrics: dict[str, Any]) -> None:
    for prefix in ("", "evaluation."):
        if n := metrics.get(f"{prefix}sums.n"):
            metrics[f"{prefix}sums.bin_count"] = [2**62] * 4 + [n] + [0] * 10


def ten_bins(metrics: dict[str, Any]) -> None:
    for prefix in ("", "evaluation."):
        if n := metrics.get(f"{prefix}sums.n"):
            cells = {"bin_count": n, "bin_correct": metrics[f"{prefix}sums.correct"], "bin_confidence": 0.5 * n}
            metrics |= {f"{prefix}sums.{key}": [value] + [0] * 9 for key, value in cells.items()}


@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
@pytest.mark.parametrize(
    "change",
    [
        ten_bins,
        wrapped,
        lambda metrics: metrics.update({"loss": 1.7e308} if "loss" in metrics else {}),
        lambda metrics: metrics.update({"seconds.gp": 1.7e308, "evaluation.seconds.gp": 1.7e308}),
        lambda metrics: metrics.update({"counter.\x1b[31m" + "A" * 100_000: 2**62}),
    ],
    ids=["ten bins", "wrapped bins", "loss", "seconds", "counter"],
)
def test_one_client_s_reply_costs_that_client_its_place_and_not_the_run(
    change: Callable[[dict[str, Any]], None], deployed: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = SETTINGS.replace(clients_per_round=4, rounds=2, evaluate_every=1)
    run = federate(settings, tmp_path / "run", a_reply(change), deployed)
    assert run.summary["status"] == "completed"
    assert run.summary["accuracy"] is not None
    assert set(run.summary["failures"]) | set(run.summary["missing_clients"]) == {"client-02"}
    assert "\x1b" not in capsys.readouterr().out


def test_a_site_whose_update_alone_is_the_model_is_named_once(caplog: pytest.LogCaptureFixture) -> None:
    def replies(*names: str) -> Checked[Any]:
        return Checked({name: object() for name in names}, {})

    policy = FailurePolicy(Settings(min_results=1))
    for t, names in enumerate([("a", "b"), ("b",), ("b",), ("a", "b"), ("b",)], 1):
        policy.count(t, replies(*names), several=True)
    assert [r.getMessage()[:15] for r in caplog.records] == ["round 2: b alon", "round 5: b alon"]
    caplog.clear()
    policy.count(6, replies("a"), several=False)
    assert not caplog.records
