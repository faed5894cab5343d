"""A run that ends with the choice of an output scale: who is asked for what, and where the choice goes."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from pfedgp_core.config import Settings
from pfedgp_core.metrics.output_scale import SCALES as GRID
from pfedgp_core.metrics.output_scale import with_scale
from pfedgp_core.wire.names import CONFIG, EVALUATE, LEFT_OUT, SCALE, SCALES, SETTINGS, SPLIT
from server.run.model_file import load_model
from tests.federation_run import QUICK, SMALL, federate, resume
from tests.wire_parts import metrics_in, metrics_of

pytestmark = pytest.mark.slow

CHOOSING = SMALL.replace(
    rounds=1, train_samples=100, gp=replace(QUICK, choose_scale=True)
)  # three of five clients train
N = len(GRID)


def asked_for_scales(request: Message) -> bool:
    return request.metadata.message_type == EVALUATE and request.content[CONFIG].get(SPLIT) == SCALES


def told(place: int):  # type: ignore[no-untyped-def]
    """A tamper by which every client's sums are largest at one place of the grid."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if asked_for_scales(request):
            with metrics_in(reply) as metrics:
                n = metrics["scales.validation.n"]
                metrics["scales.validation.values"] = [-0.1 * n * (1 + abs(k - place)) for k in range(N)]
                metrics["scales.left_out.n"], metrics["scales.left_out.values"] = 0, []
        return reply

    return tamper


def test_who_is_asked_for_what(tmp_path: Path) -> None:
    sent: dict[str, tuple[bool, int, int]] = {}

    def watch(request: Message, index: int, reply: Message) -> Message:
        if asked_for_scales(request):
            metrics = metrics_of(reply)
            counts = metrics["scales.left_out.n"], metrics["scales.validation.n"]
            sent[f"client-0{index}"] = (LEFT_OUT in request.content[CONFIG], *counts)
            assert metrics["sums.n"] == 0
            assert not [key for key in metrics if key.startswith(("calibration.", "evidence."))]
        return reply

    run = federate(CHOOSING, tmp_path / "run", watch)
    with (run.path / "clients.csv").open() as file:
        trained = {row["name"]: row["rounds_trained"] != "0" for row in csv.DictReader(file)}
    assert {name: asked for name, (asked, _, _) in sent.items()} == {name: not did for name, did in trained.items()}
    assert all((left_out > 0) == asked and validation > 0 for asked, left_out, validation in sent.values())
    rule = "validation data of 5 clients and leave-one-out on the data of 2 clients that never trained"
    assert run.summary["scale_rule"] == rule
    assert run.summary["output_scale"] in GRID
    assert any(f"output scale {run.summary['output_scale']:g} (by {rule})" in note for note in run.summary["notes"])


@pytest.mark.parametrize("place", [0, 1, 3])
def test_the_scale_goes_with_the_best_model_and_its_test(place: int, tmp_path: Path) -> None:
    """The run's settings stay, by whose hash sites approve it; the scale goes beside them."""
    asked: list[tuple[Settings, float]] = []

    def watch(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == EVALUATE and request.content[CONFIG].get(SPLIT) == "test":
            config = request.content[CONFIG]
            asked.append((Settings.from_run_config(json.loads(str(config[SETTINGS]))), config[SCALE]))  # type: ignore[arg-type]
        return told(place)(request, index, reply)

    run = federate(CHOOSING, tmp_path / "run", watch)
    assert run.summary["output_scale"] == GRID[place]
    assert asked == [(CHOOSING, GRID[place])] * 10  # the test, and that of the network before round 1
    vector, meta = load_model(run.path / "best")
    assert meta["settings"]["gp.output-scale"] == GRID[place]
    assert meta["settings"]["gp.predict-sweeps"] == with_scale(CHOOSING, GRID[place]).gp.predict_sweeps
    assert meta["scale_rule"] == run.summary["scale_rule"]
    assert np.array_equal(vector, run.model("final"))
    assert load_model(run.path / "final")[1]["settings"]["gp.output-scale"] == GRID[place]
    plain = federate(CHOOSING.replace(gp=QUICK), tmp_path / "plain")
    assert np.array_equal(plain.model("best"), vector)
    assert (run.summary["nll"] == plain.summary["nll"]) == (GRID[place] == QUICK.output_scale)


def test_a_resumed_run_chooses_the_same(tmp_path: Path) -> None:
    whole = federate(CHOOSING.replace(rounds=2), tmp_path / "whole")
    federate(CHOOSING, tmp_path / "cut")
    resumed = resume(tmp_path / "cut", rounds=2)
    keys = ("output_scale", "scale_rule", "nll", "ece", "model_temperature", "nll_at_model_temperature")
    assert {key: resumed.summary[key] for key in keys} == {key: whole.summary[key] for key in keys}


@pytest.mark.parametrize(
    "fields",
    [
        {"scales.validation.values": [float("nan")] * N},
        {"scales.validation.values": [1.0] * N},
        {"scales.validation.n": 10**6},
        {"scales.left_out.n": 10**6, "scales.left_out.values": [-1.0] * N},
        {"sums.n": 10**6},
    ],
)
def test_sums_that_cannot_be_have_no_part_and_cost_no_result(fields: dict[str, object], tmp_path: Path) -> None:
    def tamper(request: Message, index: int, reply: Message) -> Message:
        if index == 1 and asked_for_scales(request):
            with metrics_in(reply) as metrics:
                metrics.update(fields)
        return reply

    run = federate(CHOOSING, tmp_path / "run", tamper)
    assert run.summary["scale_rule"].startswith("validation data of 4 clients")
    assert run.summary["missing_clients"] == {}


def test_sums_at_another_number_of_scales_have_no_part(tmp_path: Path) -> None:
    def tamper(request: Message, index: int, reply: Message) -> Message:
        if asked_for_scales(request):
            with metrics_in(reply) as metrics:
                metrics["scales.validation.values"] = metrics["scales.validation.values"][:-1]
                metrics["scales.left_out.n"], metrics["scales.left_out.values"] = 0, []
        return reply

    run = federate(CHOOSING, tmp_path / "run", tamper)
    assert "scale_rule" not in run.summary
    named = ", ".join(f"client-0{i}" for i in range(5))
    assert any(f"{named} told likelihoods of another number" in note for note in run.summary["notes"])
    assert load_model(run.path / "best")[1]["settings"]["gp.output-scale"] == QUICK.output_scale


def test_one_of_five_that_lies_moves_the_scale_by_one_step(tmp_path: Path) -> None:
    def tamper(request: Message, index: int, reply: Message) -> Message:
        reply = told(1)(request, index, reply)
        if index == 1 and asked_for_scales(request):
            with metrics_in(reply) as metrics:
                metrics["scales.validation.values"] = [-20.0 * metrics["scales.validation.n"]] * (N - 1) + [0.0]
        return reply

    assert federate(CHOOSING, tmp_path / "run", tamper).summary["output_scale"] == GRID[2]


def test_sums_of_training_data_that_nobody_asked_for_have_no_part(tmp_path: Path) -> None:
    def forward(request: Message, index: int, reply: Message) -> Message:
        if asked_for_scales(request) and LEFT_OUT not in request.content[CONFIG]:
            with metrics_in(reply) as metrics:
                metrics["scales.left_out.n"] = 10
                metrics["scales.left_out.values"] = [-200.0] * (N - 1) + [0.0]
        return reply

    honest, run = (federate(CHOOSING, tmp_path / name, tamper) for name, tamper in (("a", None), ("b", forward)))
    assert run.summary["scale_rule"] == honest.summary["scale_rule"]
    assert run.summary["output_scale"] == honest.summary["output_scale"]


def test_a_run_that_does_not_choose_asks_nothing(tmp_path: Path) -> None:
    asked: list[bool] = []

    def watch(request: Message, index: int, reply: Message) -> Message:
        asked.append(asked_for_scales(request))
        return reply

    run = federate(CHOOSING.replace(gp=QUICK), tmp_path / "run", watch)
    assert not any(asked)
    assert "output_scale" not in run.summary
