"""``best-classes``: the best model is the one over all classes that a classifier knows, or over its client's own."""

from pathlib import Path

import pytest
from flwr.app import Message

from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from pfedgp_core.wire.names import CONFIG, EVALUATE, ROUND, SPLIT
from server.run.model_file import load_model
from tests.federation_run import SMALL, federate, resume
from tests.killed import at_message, killed
from tests.wire_parts import metrics_in

N = 60
RIGHT = {"sums": {1: 50, 2: 40, 3: 30}, "own": {1: 52, 2: 54, 3: 56}}  # of each client over all and over own classes
SETTINGS = SMALL.replace(method="fedavg", rounds=3, evaluate_every=1, test_initial=False)


def told(request: Message, index: int, reply: Message) -> Message:
    """Every client's validation says `RIGHT`."""
    if request.metadata.message_type == EVALUATE and request.content[CONFIG].get(SPLIT) == "validation":
        with metrics_in(reply) as metrics:
            for sums, right in RIGHT.items():
                correct = right[int(request.content[CONFIG][ROUND])]
                metrics[f"{sums}.n"], metrics[f"{sums}.correct"] = N, correct
                metrics[f"{sums}.nll_sum"], metrics[f"{sums}.brier_sum"] = 1.0, 1.0
                metrics[f"{sums}.bin_count"] = [0] * 14 + [N]
                metrics[f"{sums}.bin_correct"] = [0] * 14 + [correct]
                metrics[f"{sums}.bin_confidence"] = [0.0] * 14 + [N - 1.0]
    return reply


@pytest.mark.slow
@pytest.mark.parametrize(("classes", "chosen", "score"), [("all", 1, 50 / N), ("own", 3, 56 / N)])
def test_the_best_round_is_the_one_over_these_classes(classes: str, chosen: int, score: float, tmp_path: Path) -> None:
    run = federate(SETTINGS.replace(best_classes=classes), tmp_path / "run", told)
    assert run.summary["best_round"] == chosen
    key = "validation_accuracy" if classes == "all" else "validation_own_accuracy"
    assert run.summary[key] == load_model(run.path / "best")[1][key] == pytest.approx(score)
    assert {"validation_accuracy", "validation_own_accuracy"} & run.summary.keys() == {key}
    assert not [note for note in run.summary["notes"] if "the best model is of" in note]
    assert [record["round"] for record in run.records if record["best"]] == list(range(1, chosen + 1))


@pytest.mark.slow
def test_a_resumed_run_goes_on_with_the_same_classes(tmp_path: Path) -> None:
    settings = SETTINGS.replace(best_classes="own")
    killed(lambda: federate(settings, tmp_path / "run", at_message(EVALUATE, 3)))
    assert resume(tmp_path / "run", told).summary["best_round"] == 3


@pytest.mark.slow
def test_without_a_second_column_nothing_changes(tmp_path: Path) -> None:
    """A tree over own classes has one accuracy."""
    runs = [
        federate(SMALL.replace(rounds=2, evaluate_every=1, best_classes=classes), tmp_path / classes)
        for classes in ("all", "own")
    ]
    assert len({(run.summary["best_round"], run.summary["accuracy"]) for run in runs}) == 1
    assert runs[0].summary["validation_accuracy"] == runs[1].summary["validation_own_accuracy"]


def test_other_classes_are_refused() -> None:
    with pytest.raises(ConfigError, match="best-classes"):
        Settings(best_classes="mine")
