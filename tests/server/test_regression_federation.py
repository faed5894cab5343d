"""A whole regression federation in one process: every variant learns, reports what it should, and tells no targets."""

import csv
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import Message

from client.client_app import app as client_app
from pfedgp.cli import main
from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.metrics.classification import metric_sums
from pfedgp_core.wire.names import CONFIG, HELLO
from server.run.model_file import load_model
from tests.fakegrid import FakeGrid
from tests.federation_run import Run, federate, start
from tests.wire_parts import metrics_in

pytestmark = pytest.mark.slow

SMALL = Settings(
    task="regression",
    dataset="diabetes",
    clients=4,
    clients_per_round=3,
    rounds=6,
    evaluate_every=3,
    learning_rate=0.01,
    inducing_per_class=20,
    wait_timeout=20.0,
    gp=GPSettings(output_scale=1.0),
)
KINDS = [("full", "predictive"), ("full", "marginal"), ("ip-compute", "predictive"), ("ip-compute", "marginal")]
KINDS += [("ip-data", "predictive")]


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """One undisturbed run."""
    from flwr.supercore.task_identity import TaskIdentity

    TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1
    return federate(SMALL, tmp_path_factory.mktemp("plain") / "run")


@pytest.mark.parametrize(("variant", "objective"), KINDS)
def test_every_variant_is_better_than_the_clients_means(variant: str, objective: str, tmp_path: Path) -> None:
    # FITC starts from inducing inputs far from the data and takes some rounds to see them.
    rounds = 30 if variant == "ip-compute" else 6
    run = federate(SMALL.replace(variant=variant, objective=objective, rounds=rounds), tmp_path / "run")
    summary = run.summary
    assert summary["status"] == "completed"
    assert summary["failed_replies"] == 0
    assert summary["rmse"] < 0.9 * summary["baseline_rmse"]
    assert summary["r2"] > 0.25 > summary["baseline_r2"]
    assert 0.8 < summary["coverage"] <= 1


def test_it_leaves_all_artefacts(plain: Run) -> None:
    names = {path.name for path in plain.path.iterdir()}
    assert names >= {"config.toml", "metrics.jsonl", "best", "final", "clients.csv", "partition.json", "summary.json"}
    assert names >= {"rmse.png", "coverage.png"}
    assert not names & {"accuracy.png", "reliability.png", "error.log"}
    assert not {"accuracy", "ece", "brier", "mce", "validation_accuracy"} & set(plain.summary)
    vector, meta = load_model(plain.path / "best")
    assert meta["class_names"] == []
    assert meta["settings"]["task"] == "regression"
    assert meta["validation_standard_rmse"] == plain.summary["validation_standard_rmse"]
    assert np.isfinite(vector).all()


def test_the_best_model_has_the_smallest_error(plain: Run) -> None:
    scores = {r["round"]: r["validation_standard_rmse"] for r in plain.records}
    measured = {t: score for t, score in scores.items() if score is not None}
    assert set(measured) == {3, 6}
    assert plain.summary["best_round"] == min(measured, key=lambda t: measured[t])
    assert plain.summary["validation_standard_rmse"] == min(measured.values())
    assert all(r["validation_rmse"] > 20 for r in plain.records if r["validation_rmse"] is not None)


def test_rows_of_clients_pool_to_the_summary(plain: Run) -> None:
    rows = list(csv.DictReader((plain.path / "clients.csv").open()))
    assert list(rows[0]) == [
        *("name", "n_train", "n_test", "rounds_trained", "last_trained_round"),
        *("rmse", "nll", "coverage", "coverage_low", "coverage_high", "r2"),
    ]
    n = np.array([int(row["n_test"]) for row in rows])
    rmse, nll = (np.array([float(row[key]) for row in rows]) for key in ("rmse", "nll"))
    assert n.sum() == plain.summary["test_samples"] == 88
    assert np.sqrt(n @ rmse**2 / 88) == pytest.approx(plain.summary["rmse"])
    assert n @ nll / 88 == pytest.approx(plain.summary["nll"])


def test_one_seed_gives_one_result_to_the_last_bit(plain: Run, tmp_path: Path) -> None:
    again = federate(SMALL, tmp_path / "again")
    assert again.lasting == plain.lasting
    assert again.model("final").tobytes() == plain.model("final").tobytes()


def test_the_console_shows_errors_and_the_baseline(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    federate(SMALL.replace(rounds=1), tmp_path / "run")
    printed = capfd.readouterr().out
    assert "data     diabetes, regression" in printed
    assert "noise    variance 0.3 at first, learned" in printed
    assert "val rmse 0." in printed
    assert "clients' training means alone: rmse" in printed
    assert "accuracy" not in printed
    assert "sampler" not in printed


def test_a_greeting_holds_no_targets(tmp_path: Path) -> None:
    greetings: list[dict[str, Any]] = []

    def listen(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == HELLO:
            greetings.append(json.loads(reply.content[CONFIG]["hello"]))
        return reply

    federate(SMALL.replace(rounds=1), tmp_path / "run", listen)
    assert len(greetings) == 4
    for hello in greetings:
        assert hello["classes"] == hello["class_names"] == []
        assert not any(isinstance(value, float) for value in hello.values())


def test_sums_of_the_other_task_are_refused(tmp_path: Path) -> None:
    wrong = metric_sums([[0.8, 0.2]], [0]).to_dict()

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == "evaluate" and index == 1:
            with metrics_in(reply) as metrics:
                for key in [k for k in metrics if k.startswith("sums.")]:
                    del metrics[key]
                metrics.update({f"sums.{key}": value for key, value in wrong.items()})
        return reply

    run = federate(SMALL.replace(rounds=3), tmp_path / "run", tamper)
    reason = "metric sums are missing or contradict themselves"
    assert run.records[-1]["validation_failed"] == {"client-01": reason}
    assert run.summary["missing_clients"] == {"client-01": reason}


def test_a_client_with_one_sample_takes_part(tmp_path: Path) -> None:
    # 265 training samples: some of so many clients hold a single one, and no validation or test sample.
    settings = SMALL.replace(clients=200, clients_per_round=20, rounds=1, evaluate_every=1)
    summary = federate(settings, tmp_path / "run").summary
    assert summary["status"] == "completed"
    assert summary["test_samples"] == 88
    assert summary["failed_replies"] == 0


def test_a_mismatch_of_task_and_data_ends_before_the_first_round(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    for options in (["--dataset", "diabetes"], ["--set", "task=regression"]):
        assert main(["simulate", *options, "--out", str(tmp_path / "run")]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "does not go with dataset" in error
        assert "set task = " in error
    assert not (tmp_path / "run").exists()
    # A server that cannot load the data hears it from the clients.
    logging.getLogger("pfedgp.client").handlers.clear()
    settings = SMALL.replace(dataset="digits")
    with pytest.raises(RunFailedError, match="ConfigError"):
        start(FakeGrid(client_app, settings.clients), settings, tmp_path / "run")
