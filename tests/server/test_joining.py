"""What joining gives each client stands in a run's table, and costs neither a result nor a policy's last evaluation."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Error, Message

from client.client_app import app as client_app
from pfedgp_core.wire.layout import unpack
from pfedgp_core.wire.names import CONFIG, EVALUATE, INITIAL, SPLIT
from tests.fakegrid import FakeGrid, Tamper
from tests.federation_run import SMALL, Run, federate, resume, start
from tests.killed import die, killed
from tests.own_sites import OWN, OwnGrid, three_image_sites
from tests.server.test_evaluation import evaluate
from tests.uninterrupted import same, without_pictures

pytestmark = pytest.mark.slow

NEW = {"initial_accuracy", "accuracy_gain", "accuracy_gain_low", "accuracy_gain_high"}
QUIET = SMALL.replace(rounds=1)


def rows_in(run: Run) -> list[dict[str, Any]]:
    return list(csv.DictReader((run.path / "clients.csv").open()))


def before_round_1(request: Message) -> bool:
    return INITIAL in request.content[CONFIG]


def fails(*clients: int) -> Tamper:
    """These clients do not answer the test before round 1."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        failed = before_round_1(request) and index in clients
        return Message(Error(code=2, reason="PolicyError"), reply_to=request) if failed else reply

    return tamper


def test_the_table_has_the_gains_that_evaluate_finds(tmp_path: Path) -> None:
    sites = three_image_sites(tmp_path)
    run = start(OwnGrid(sites), OWN, tmp_path / "run")
    found = evaluate(OwnGrid(sites), run.path / "best", tmp_path / "out", least=1)
    gains = {row["name"]: row["gain"] for row in found["sites"]}
    for row in rows_in(run):
        assert float(row["accuracy_gain"]) == pytest.approx(gains[row["name"]]["value"], abs=1e-6)
        assert float(row["accuracy_gain_low"]) == pytest.approx(gains[row["name"]]["low"], abs=1e-6)
        assert float(row["initial_accuracy"]) == pytest.approx(float(row["accuracy"]) - float(row["accuracy_gain"]))
    assert run.summary["initial"]["mean_gain"]["value"] == pytest.approx(found["mean"]["gain"]["value"])


def test_it_stands_where_the_other_results_stand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = federate(QUIET, tmp_path / "run")
    printed = capsys.readouterr().out
    said = f"{100 * run.summary['initial']['mean_gain']['value']:+.1f} points of accuracy"
    assert f"what joining gives: {said} (95 % interval " in printed
    assert "mean over 5 clients; the initial accuracy is that of the same Gaussian processes" in printed
    assert "initial_accuracy  accuracy_gain" in printed
    page, card = ((run.path / name).read_text() for name in ("report.html", "model-card.md"))
    assert said in page
    assert "accuracy gain" in page
    assert said in card
    assert json.loads((run.path / "model-card.json").read_text())["Results"]["What joining gives"].startswith(said)


def test_all_else_stays_to_the_bit(tmp_path: Path) -> None:
    plain = federate(SMALL.replace(test_initial=False), tmp_path / "plain")
    asked = federate(SMALL, tmp_path / "asked")
    assert "initial" not in plain.summary
    assert asked.lasting == plain.lasting
    assert asked.model("best").tobytes() == plain.model("best").tobytes()
    without = [{key: value for key, value in row.items() if key not in NEW} for row in rows_in(asked)]
    assert without == rows_in(plain)
    assert rows_in(asked)[0].keys() >= NEW
    assert (asked.path / "calibration.json").read_text() == (plain.path / "calibration.json").read_text()


def test_the_sums_alone_leave_and_the_final_test_goes_first(tmp_path: Path) -> None:
    left: list[tuple[bool, set[str]]] = []

    def watch(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == EVALUATE and request.content[CONFIG][SPLIT] == "test":
            fields = unpack(reply.content[CONFIG])[1]
            left.append((before_round_1(request), {key.partition(".")[0] for key in fields}))
        return reply

    federate(QUIET, tmp_path / "run", watch)
    assert [initial for initial, _ in left] == [False] * 5 + [True] * 5
    assert all("calibration" in groups for initial, groups in left if not initial)
    assert all(groups <= {"sums", "own", "counter", "seconds"} for initial, groups in left if initial)


def test_with_drawn_clients_some_are_asked_and_the_error_is_stated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    grid = FakeGrid(client_app, QUIET.clients)
    run = start(grid, QUIET.replace(evaluate_clients=3), tmp_path / "run")
    initial, asked = run.summary["initial"], [message for message in grid.sent if before_round_1(message)]
    gains = [float(row["accuracy_gain"]) for row in rows_in(run) if row["accuracy_gain"] != "n/a"]
    assert (len(asked), len(gains), initial["clients"], initial["clients_of"]) == (3, 3, 3, 5)
    mean = sum(gains) / 3
    spread = sum((gain - mean) ** 2 for gain in gains) / 2
    assert initial["standard_error"] == pytest.approx((spread * (1 - 3 / 5) / 3) ** 0.5, abs=1e-6)
    assert "mean over 3 clients drawn from 5, standard error " in capsys.readouterr().out


def test_one_drawn_client_gives_no_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = federate(QUIET.replace(evaluate_clients=1), tmp_path / "run")
    assert run.summary["initial"]["standard_error"] is None
    assert "mean over 1 client drawn from 5, standard error n/a" in capsys.readouterr().out


def test_who_does_not_answer_it_is_named_and_costs_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = federate(QUIET.replace(on_failure="stop"), tmp_path / "run", fails(1, 3))
    assert run.summary["status"] == "completed"
    assert run.summary["missing_clients"] == {}
    assert run.summary["initial"]["clients"] == 3
    assert [row["accuracy_gain"] == "n/a" for row in rows_in(run)] == [False, True, False, True, False]
    assert "n/a" not in [row["accuracy"] for row in rows_in(run)]
    assert "no test before round 1: client-01 (PolicyError), client-03 (PolicyError)" in capsys.readouterr().out
    assert "What joining gives is not known of: client-01 (PolicyError)" in (run.path / "report.html").read_text()


def test_a_run_whose_clients_all_refuse_it_is_complete(tmp_path: Path) -> None:
    run = federate(QUIET, tmp_path / "run", fails(*range(5)))
    assert run.summary["status"] == "completed"
    assert (run.summary["initial"]["accuracy"], run.summary["initial"]["mean_gain"]) == (None, None)
    assert {row["accuracy_gain"] for row in rows_in(run)} == {"n/a"}
    assert "What joining gives is not known of" in (run.path / "report.html").read_text()


@pytest.mark.parametrize("drawn", [0, 3])
def test_a_run_killed_in_it_goes_on_to_the_same_bits(
    drawn: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    without_pictures(monkeypatch)

    def dies(request: Message, index: int, reply: Message) -> Message:
        if before_round_1(request):
            die()
        return reply

    settings = QUIET.replace(evaluate_clients=drawn)
    whole = federate(settings, tmp_path / "whole")
    killed(lambda: federate(settings, tmp_path / "run", dies))
    assert not (tmp_path / "run/summary.json").exists()
    assert same(resume(tmp_path / "run"), whole)


def test_it_is_no_release_of_an_update(tmp_path: Path) -> None:
    noised = QUIET.replace(dp_noise=1.0)
    with_it, without = (federate(noised.replace(test_initial=on), tmp_path / str(on)) for on in (True, False))
    assert with_it.summary["epsilon"] == without.summary["epsilon"]
    assert (with_it.path / "releases.jsonl").read_text() == (without.path / "releases.jsonl").read_text()


@pytest.mark.parametrize(
    "other",
    [
        SMALL.replace(method="fedavg", rounds=1),
        SMALL.replace(task="regression", dataset="diabetes", clients=3, clients_per_round=2, rounds=1),
    ],
    ids=["method without onboarding", "regression"],
)
def test_what_says_nothing_untrained_has_no_gain(other: Any, tmp_path: Path) -> None:
    run = federate(other, tmp_path / "run")
    assert "initial" not in run.summary
    assert rows_in(run)[0].keys().isdisjoint(NEW)
