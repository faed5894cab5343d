"""Clients that never trained: their training data choose the model's temperature too, each sample left out once."""

import csv
import json
from pathlib import Path

import pytest
from flwr.app import Message

from pfedgp_core.metrics.likelihood import LIKELIHOOD_GRID
from pfedgp_core.wire.names import CONFIG, LEFT_OUT, SPLIT
from server.final_results import UNCALIBRATED
from server.run.model_file import load_model
from tests.federation_run import SMALL, Run, federate
from tests.wire_parts import metrics_in, metrics_of

pytestmark = pytest.mark.slow

SETTINGS = SMALL.replace(rounds=1, test_initial=False)  # three of five clients train
BOTH = "validation data of 5 clients and leave-one-out on the data of 2 clients that never trained"
ALONE = "leave-one-out on the data of 2 clients that never trained"


def trained(run: Run) -> dict[str, bool]:
    with (run.path / "clients.csv").open() as file:
        return {row["name"]: row["rounds_trained"] != "0" for row in csv.DictReader(file)}


def without_validation(request: Message, index: int, reply: Message) -> Message:
    """A tamper by which no client has validation data at the end."""
    if request.content[CONFIG].get(SPLIT) == "test":
        with metrics_in(reply) as metrics:
            for key in [key for key in metrics if key.startswith("calibration.validation.")]:
                metrics[key] = [0] * len(metrics[key])
            metrics["evidence.validation.n"] = 0
            metrics["evidence.validation.values"] = [0.0] * len(LIKELIHOOD_GRID)
    return reply


def test_only_clients_that_never_trained_are_asked_and_send_the_sums(tmp_path: Path) -> None:
    sent: dict[str, tuple[bool, int]] = {}

    def watch(request: Message, index: int, reply: Message) -> Message:
        if request.content[CONFIG].get(SPLIT) == "test":
            asked = LEFT_OUT in request.content[CONFIG]
            sent[f"client-0{index}"] = asked, metrics_of(reply)["evidence.left_out.n"]
        return reply

    run = federate(SETTINGS, tmp_path / "run", watch)
    have = trained(run)
    assert sum(have.values()) == 3
    assert {name: asked for name, (asked, _) in sent.items()} == {name: not did for name, did in have.items()}
    assert all((n > 0) == asked for asked, n in sent.values())
    assert run.summary["temperature_rule"] == BOTH


def test_they_choose_where_there_are_no_validation_data(tmp_path: Path) -> None:
    run = federate(SETTINGS, tmp_path / "run", without_validation)
    assert run.summary["temperature"] is None
    assert run.summary["temperature_rule"] == ALONE
    assert run.summary["model_temperature"] in LIKELIHOOD_GRID
    assert run.summary["nll_at_model_temperature"] < run.summary["nll"]
    assert load_model(run.path / "best")[1]["temperature_rule"] == ALONE
    assert UNCALIBRATED not in run.summary["notes"]


def test_where_all_trained_and_none_validates_there_is_no_temperature_and_the_summary_says_so(tmp_path: Path) -> None:
    run = federate(SETTINGS.replace(clients_per_round=5), tmp_path / "run", without_validation)
    assert run.summary["model_temperature"] is None
    assert run.summary["temperature_rule"] is None
    assert UNCALIBRATED in run.summary["notes"]
    assert "temperature" not in load_model(run.path / "best")[1]
    assert json.loads((run.path / "calibration.json").read_text())["at_model_temperature"]["n"] == 0


def test_sums_that_nobody_asked_for_have_no_part(tmp_path: Path) -> None:
    """A client that trained may not bring in data that trained the features."""

    def forward(request: Message, index: int, reply: Message) -> Message:
        if request.content[CONFIG].get(SPLIT) == "test" and LEFT_OUT not in request.content[CONFIG]:
            with metrics_in(reply) as metrics:
                metrics["evidence.left_out.n"] = 10
                metrics["evidence.left_out.values"] = [0.0] + [-200.0] * 59
        return reply

    honest, run = (federate(SETTINGS, tmp_path / name, tamper) for name, tamper in (("a", None), ("b", forward)))
    keys = ("model_temperature", "temperature_spread", "temperature_rule")
    assert [run.summary[key] for key in keys] == [honest.summary[key] for key in keys]


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("left_out.n", 10**6),
        ("validation.n", 10**6),
        ("validation.values", [1.0] * 60),
        ("left_out.values", [0.0] * 59),
        ("test.n", [1] * 60),
    ],
)
def test_sums_that_cannot_be_cost_their_client(key: str, value: object, tmp_path: Path) -> None:
    def tamper(request: Message, index: int, reply: Message) -> Message:
        if index == 1 and request.content[CONFIG].get(SPLIT) == "test":
            with metrics_in(reply) as metrics:
                metrics[f"evidence.{key}"] = value
        return reply

    run = federate(SETTINGS, tmp_path / "run", tamper)
    assert list(run.summary["missing_clients"]) == ["client-01"]


def test_sites_of_former_versions_send_none_and_are_tested(tmp_path: Path) -> None:
    def tamper(request: Message, index: int, reply: Message) -> Message:
        if request.content[CONFIG].get(SPLIT) == "test":
            with metrics_in(reply) as metrics:
                for key in [key for key in metrics if key.startswith("evidence.")]:
                    del metrics[key]
        return reply

    run = federate(SETTINGS, tmp_path / "run", tamper)
    assert run.summary["missing_clients"] == {}
    assert run.summary["model_temperature"] is None
    assert run.summary["temperature"] is not None
