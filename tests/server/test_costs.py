"""Gradients, bytes and CPU seconds are counted alike for every method, by round and in all."""

from pathlib import Path

import pytest

from pfedgp_core.wire.replies import TrainReply
from tests.federation_run import SMALL, Run, federate
from tests.uninterrupted import without_pictures


@pytest.fixture
def run(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Two rounds of three clients; the first has no evaluation."""
    without_pictures(monkeypatch)
    return federate(SMALL.replace(method=request.param, rounds=2, local_steps=4), tmp_path / "run")


@pytest.mark.slow
@pytest.mark.parametrize(("run", "each"), [("pfedgp", 1), ("fedavg", 4), ("pfedme", 20)], indirect=["run"])
def test_gradients_of_all_updates_are_counted(run: Run, each: int) -> None:
    assert [record["gradients"] for record in run.records] == [3 * each] * 2
    assert run.summary["gradients"] == 6 * each


@pytest.mark.parametrize("run", ["fedavg"], indirect=True)
def test_bytes_and_cpu_seconds_add_up(run: Run) -> None:
    for key in ("bytes_sent", "bytes_received"):
        assert run.summary[key] == sum(record[key] for record in run.records)
    assert all(record["seconds"]["cpu"] > 0 for record in run.records)
    # The final test has cost some too.
    assert run.summary["cpu_seconds"] > sum(record["seconds"]["cpu"] for record in run.records)


def test_a_reply_without_gradients_counts_none() -> None:
    config, metrics = TrainReply("ward-3", "ok", 10, gradients=7).to_wire()
    assert TrainReply.from_wire(config, metrics).gradients == 7
    del metrics["gradients"]
    assert TrainReply.from_wire(config, metrics).gradients == 0
