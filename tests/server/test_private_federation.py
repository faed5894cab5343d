"""A federation with differential privacy: what leaves a client, and that it still learns where the noise is small."""

import math
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from pfedgp_core.learning.result import UpdateResult
from pfedgp_core.model.shared import SharedState
from pfedgp_core.wire.names import TRAIN
from tests.federation_run import SMALL, Run, federate
from tests.wire_parts import metrics_of, vector_of

pytestmark = pytest.mark.slow

PRIVATE = SMALL.replace(clients_per_round=5, dp_clip=0.5, dp_noise=0.5)


class Wiretap:
    """Sees all train requests and replies."""

    def __init__(self) -> None:
        self.updates: list[np.ndarray] = []
        self.metrics: list[dict] = []

    def __call__(self, request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == TRAIN:
            self.updates.append(vector_of(reply).astype(np.float64) - vector_of(request))
            self.metrics.append(metrics_of(reply))
        return reply

    @property
    def norms(self) -> np.ndarray:
        return np.array([np.linalg.norm(update) for update in self.updates])


def test_updates_leave_clipped_and_noised_and_without_a_loss(tmp_path: Path) -> None:
    plain, private = Wiretap(), Wiretap()
    (record,) = federate(PRIVATE.replace(rounds=1, dp_noise=0.0), tmp_path / "plain", plain).records
    assert record["update_norm"] == pytest.approx(np.median(plain.norms), rel=1e-9)
    run = federate(PRIVATE.replace(rounds=1), tmp_path / "private", private)
    size, deviation = private.updates[0].size, 0.25
    # The clip of 0.5 vanishes beside the noise: the norms are those of the noise alone, within six deviations.
    assert np.abs(private.norms / (deviation * math.sqrt(size)) - 1).max() < 6 / math.sqrt(2 * size) + 1e-3
    assert plain.norms.max() < private.norms.min()
    assert all("loss" in metrics for metrics in plain.metrics)
    told = {"n_train", "steps", "gradients"}
    assert {metrics["gradients"] for metrics in private.metrics} == {0}
    for metrics in private.metrics:
        assert {key for key in metrics if not key.startswith("seconds.")} == told
        assert metrics["steps"] == 1
    assert [(record["train_loss"], record["update_norm"]) for record in run.records] == [(None, None)]
    assert run.summary["status"] == "completed"
    assert run.summary["failed_replies"] == 0


def test_the_clip_bounds_what_a_client_can_change(tmp_path: Path) -> None:
    taps = {noise: Wiretap() for noise in (0.0, 1e-9)}
    for noise, tap in taps.items():
        federate(PRIVATE.replace(rounds=1, dp_noise=noise, dp_clip=1e-3), tmp_path / str(noise), tap)
    assert taps[0.0].norms.min() > 1e-2
    np.testing.assert_allclose(taps[1e-9].norms, 1e-3, rtol=1e-2)


def test_it_still_learns_where_the_noise_is_small(tmp_path: Path) -> None:
    settings = PRIVATE.replace(rounds=4, evaluate_every=1, dp_clip=2.0, dp_noise=5e-5)
    noised, plain = (
        federate(settings, tmp_path / "noised"),
        federate(settings.replace(dp_noise=0.0), tmp_path / "plain"),
    )
    assert noised.records[-1]["validation_ece"] < 0.9 * noised.records[0]["validation_ece"]
    start = SharedState.initial(SMALL, (1, 8, 8), 10).to_vector()
    way, noised_way = (run.model("final") - start for run in (plain, noised))
    assert 0 < np.linalg.norm(noised_way - way) < 0.3 * np.linalg.norm(way)


def test_two_runs_of_one_seed_differ_in_the_noise_only(tmp_path: Path) -> None:
    runs: list[Run] = [federate(PRIVATE.replace(rounds=1), tmp_path / str(i)) for i in range(2)]
    assert runs[0].model("final").tobytes() != runs[1].model("final").tobytes()
    assert runs[0].records[0]["sampled"] == runs[1].records[0]["sampled"]


@pytest.mark.parametrize("status", ["ok", "no-step"])
def test_whether_a_step_was_taken_stays_on_the_client(
    status: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def still(state, data, settings, stream):
        return UpdateResult(status=status)

    monkeypatch.setattr("pfedgp_core.methods.pfedgp.local_update", still)
    tap = Wiretap()
    run = federate(PRIVATE.replace(rounds=1), tmp_path / "run", tap)
    assert run.records[0]["ok"] == 5
    assert len(tap.updates) == 5
    assert (tap.norms > 1).all()
    assert all(metrics["steps"] == 1 for metrics in tap.metrics)
