"""A client that lies about its validation results chooses neither the best round nor the model's temperature."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from flwr.app import Message

from pfedgp_core.wire.names import CONFIG, EVALUATE, HELLO, ROUND, SPLIT
from server.run.checkpoint import newest_checkpoint
from tests.fakegrid import Tamper
from tests.federation_run import SMALL, Run, federate, resume
from tests.wire_parts import metrics_in

pytestmark = pytest.mark.slow

N, LIAR = 60, 1
SETTINGS = SMALL.replace(rounds=4, evaluate_every=1)
RIGHT = {1: 30, 2: 40, 3: 50, 4: 45}  # of each honest client, by round
LIES: dict[str, Callable[[int], int]] = {
    "all right in round 1, all wrong later": lambda t: N * (t == 1),
    "all right in round 4, all wrong before": lambda t: N * (t == 4),
    "all wrong in round 3": lambda t: N * (t != 3),
}


def told(lie: Callable[[int], int]) -> Tamper:
    """A tamper by which honest clients get `RIGHT` samples right, and one says what it likes of three times as many."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == HELLO:
            config = reply.content[CONFIG]
            config["hello"] = json.dumps(json.loads(str(config["hello"])) | {"n_validation": 3 * N})
        if request.metadata.message_type == EVALUATE and request.content[CONFIG].get(SPLIT) == "validation":
            t = int(request.content[CONFIG][ROUND])
            times = 3 if index == LIAR else 1
            n, right = times * N, times * (lie(t) if index == LIAR else RIGHT[t])
            with metrics_in(reply) as metrics:
                metrics["sums.n"], metrics["sums.correct"] = n, right
                metrics["sums.nll_sum"], metrics["sums.brier_sum"] = 1.0, 1.0
                metrics["sums.bin_count"] = [0] * 14 + [n]
                metrics["sums.bin_correct"] = [0] * 14 + [right]
                metrics["sums.bin_confidence"] = [0.0] * 14 + [n - 1.0]
        return reply

    return tamper


def best_rounds(run: Run) -> list[int]:
    return [record["round"] for record in run.records if record["best"]]


@pytest.mark.parametrize("lie", LIES)
def test_one_of_five_clients_does_not_choose_the_best_round(lie: str, tmp_path: Path) -> None:
    run = federate(SETTINGS, tmp_path / "run", told(LIES[lie]))
    assert best_rounds(run) == [1, 2, 3]
    assert run.summary["best_round"] == 3


def test_without_the_bound_it_would(tmp_path: Path) -> None:
    """The pooled accuracy, which the record shows, is the highest in the round of its choice."""
    run = federate(SETTINGS, tmp_path / "run", told(LIES["all right in round 1, all wrong later"]))
    assert max(run.records, key=lambda record: record["validation_accuracy"])["round"] == 1


def test_a_resumed_run_compares_with_the_same_clients(tmp_path: Path) -> None:
    tamper = told(LIES["all right in round 1, all wrong later"])
    federate(SETTINGS.replace(rounds=2), tmp_path / "run", tamper)
    kept = newest_checkpoint(tmp_path / "run")
    assert kept is not None
    assert kept.best is not None
    assert {name: of.score for name, of in kept.best.clients.items()} == {
        f"client-{i:02}": 0.0 if i == LIAR else RIGHT[2] / N for i in range(5)
    }
    assert best_rounds(resume(tmp_path / "run", tamper, rounds=4)) == [1, 2, 3]
