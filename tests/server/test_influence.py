"""One of five sites against a federation at the defaults: named, shortened or refused, in the first round too."""

import io
import logging
import re
from pathlib import Path

import numpy as np
import pytest
from flwr.app import Message

from pfedgp_core.learning.influence import update_norm
from pfedgp_core.wire.names import CONFIG, ROUND, TRAIN
from server.report.console import ConsoleReporter
from server.report.prometheus import PrometheusFile
from server.run.origin import Origin
from tests.fakegrid import Tamper
from tests.federation_run import SMALL, Run, federate, initial_model, resume
from tests.killed import at_message, killed
from tests.uninterrupted import MODES, same, without_pictures
from tests.wire_parts import put_vector, vector_of

FIVE = SMALL.replace(clients_per_round=5)
ATTACKER = "client-03"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Short runs leave out what takes most of their time."""
    without_pictures(monkeypatch)


def replaced(honest_norms: float, rounds: tuple[int, ...] = (1,)) -> Tamper:
    """A tamper in which client 3 sends a model far away from the one that it received."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        config = request.content.config_records[CONFIG]
        if request.metadata.message_type == TRAIN and index == 3 and config[ROUND] in rounds:
            sent = vector_of(request)
            away = np.full_like(sent, -1.0)
            factor = honest_norms * update_norm(sent, vector_of(reply)) / update_norm(sent, away)
            put_vector(reply, (sent + factor * (away - sent)).astype(np.float32))
        return reply

    return tamper


def moved(run: Run) -> float:
    """The norm of the way from the first model to the last."""
    return update_norm(initial_model(), run.model("final"))


def test_a_site_that_replaces_the_model_in_round_1_is_refused_and_named_in_the_record(tmp_path: Path) -> None:
    run = federate(FIVE.replace(rounds=1), tmp_path / "run", replaced(77.0))
    assert run.records[0]["failed"] == {ATTACKER: "the update's norm is implausibly large"}


def test_a_site_that_replaces_the_model_in_round_1_is_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "pfedgp.server"):
        federate(FIVE.replace(rounds=1), tmp_path / "run", replaced(77.0))
    said = next(message for message in caplog.messages if f"round 1: {ATTACKER} sent an update of " in message)
    assert f"max-update-norm = {FIVE.max_update_norm:g})" in said
    assert 20 < float(said.partition("set max-update-norm to ")[2].partition(" or more")[0]) < 1000


@pytest.mark.slow
def test_the_bound_that_a_refusal_names_lets_the_update_in(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "pfedgp.server"):
        federate(FIVE.replace(rounds=1), tmp_path / "refused", replaced(77.0))
    (bound,) = re.findall("set max-update-norm to (.+) or more", caplog.text)
    run = federate(FIVE.replace(rounds=1, max_update_norm=float(bound)), tmp_path / "run", replaced(77.0))
    assert run.records[0]["failed"] == {}


def test_no_bound_is_named_that_would_not_let_the_update_in(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "pfedgp.server"):
        run = federate(FIVE.replace(rounds=1, max_update_norm=1e12), tmp_path / "run", replaced(1e7))
    assert run.records[0]["failed"] == {ATTACKER: "the update's norm is implausibly large"}
    assert "ask the site, and no setting lets such an update in" in caplog.text
    assert "set max-update-norm" not in caplog.text


def test_a_site_below_the_refusal_is_shortened_and_named_in_the_record(tmp_path: Path) -> None:
    run = federate(FIVE.replace(rounds=1), tmp_path / "run", replaced(9.0))
    assert not run.records[0]["failed"]
    assert run.records[0]["clipped"][ATTACKER] > FIVE.clip_updates
    assert run.summary["clipped"][ATTACKER] == 1


@pytest.mark.slow
@pytest.mark.parametrize("away", [9.0, 77.0])
def test_whatever_a_site_sends_the_model_moves_as_far_as_honest_updates_move_it(away: float, tmp_path: Path) -> None:
    honest = federate(FIVE.replace(rounds=1), tmp_path / "honest")
    attacked = federate(FIVE.replace(rounds=1), tmp_path / "attacked", replaced(away))
    usual = attacked.records[0]["usual_norm"]
    assert moved(attacked) <= moved(honest) + 2 * FIVE.clip_updates * usual / 5


def test_without_the_bound_the_same_site_moves_the_model_far(tmp_path: Path) -> None:
    open_ = FIVE.replace(rounds=1, clip_updates=0.0, max_update_norm=1e12)
    run = federate(open_, tmp_path / "run", replaced(77.0))
    assert moved(run) > 10 * run.records[0]["usual_norm"]
    assert run.records[0]["clipped"] == {}


@pytest.mark.slow
@pytest.mark.parametrize("deployed", MODES.values(), ids=MODES)
def test_a_killed_run_goes_on_with_the_norms_that_were_usual(deployed: bool, tmp_path: Path) -> None:
    tamper = replaced(9.0, (1, 2, 3))
    whole = federate(FIVE, tmp_path / "whole", tamper, deployed)
    dies = at_message(TRAIN, 3)
    killed(lambda: federate(FIVE, tmp_path / "run", lambda q, i, r: dies(q, i, tamper(q, i, r)), deployed))
    assert same(resume(tmp_path / "run", tamper, deployed=deployed), whole)


@pytest.mark.slow
def test_the_console_counts_what_was_shortened_and_says_whose_it_was(tmp_path: Path) -> None:
    run, out = federate(FIVE, tmp_path / "run", replaced(9.0, (1, 2, 3))), io.StringIO()
    reporter = ConsoleReporter(out)
    reporter.start(FIVE, 5, run.path, Origin())
    for record in run.records:
        reporter.round(record)
    reporter.finish([], run.summary, run.path)
    assert out.getvalue().count(" clipped  ") == 3
    assert f"updates that were shortened (clip-updates): {ATTACKER} x 3" in out.getvalue()


@pytest.mark.slow
def test_prometheus_counts_what_was_shortened_by_client(tmp_path: Path) -> None:
    run, file = federate(FIVE, tmp_path / "run", replaced(9.0, (1, 2, 3))), PrometheusFile(tmp_path / "run.prom")
    file.start(FIVE, 5, run.path, Origin())
    for record in run.records:
        file.round(record)
    assert f'pfedgp_clipped_updates_total{{client="{ATTACKER}"}} 3.0' in (tmp_path / "run.prom").read_text()
