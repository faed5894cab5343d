"""Sites that die, hang and lie in the middle of rounds, in one run: it goes on, says who failed, and takes them back.

A round is caught in its middle by stopping a site's worker and waiting until another site has trained in the round:
the run cannot get past it before the reply of the stopped one is there or its time is over.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from server.run.checkpoint import newest_checkpoint
from tests.deploy.deployment import WARDS, Deployment, deployed
from tests.deploy.program import wait_for

pytestmark = pytest.mark.slow

VICTIM, WITNESS = "ward-c", "ward-a"
TIMEOUT = 20.0
RUN = "long"
OPTIONS = [
    *("--preset", "zero-mean", "--rounds", "1000", "--clients-per-round", "3", "--seed", "3"),
    *("--set", f"round-timeout={TIMEOUT:g}", "--set", "min-clients=3", "--set", "evaluate-every=1"),
    *("--set", "personalise=false"),
]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Three sites, and a run that is in its rounds."""
    with deployed(tmp_path_factory.mktemp("sites"), WARDS) as made:
        made.start_run(RUN, *OPTIONS)
        wait_for(lambda: made.rounds(RUN), 120.0, "a first round")
        yield made


@contextmanager
def caught_in_a_round(deployment: Deployment) -> Iterator[dict[str, int]]:
    """The victim's processes, while its worker is stopped and the round waits for it."""
    pids = deployment.pids(VICTIM)
    os.kill(pids["worker"], signal.SIGSTOP)
    wait_for(lambda: deployment.progress(WITNESS) > deployment.progress(VICTIM), 120.0, "a round in its middle")
    yield pids


def record_of(
    deployment: Deployment, look: Callable[[dict[str, Any]], bool], after: int, seconds: float
) -> dict[str, Any]:
    """The first line of the run's metrics after a round that fits, waited for."""

    def found() -> dict[str, Any]:
        return next((r for r in deployment.rounds(RUN) if r["round"] > after and look(r)), {})

    return wait_for(found, seconds, "such a line in metrics.jsonl")


def last_round(deployment: Deployment) -> int:
    """The last round in the metrics."""
    return int(deployment.rounds(RUN)[-1]["round"])


def takes_part(record: dict[str, Any]) -> bool:
    """Whether the victim was asked and all went well."""
    return VICTIM in record["sampled"] and not record["failed"] and not record["validation_failed"]


def test_a_killed_worker_costs_its_reply_and_no_more(deployment: Deployment) -> None:
    before = last_round(deployment)
    with caught_in_a_round(deployment) as pids:
        os.kill(pids["worker"], signal.SIGKILL)
    failed = record_of(deployment, lambda r: VICTIM in r["failed"], before, 120.0)
    assert failed["failed"][VICTIM] == "the client process died"
    assert failed["ok"] == 2
    assert failed["seconds"]["train"] < TIMEOUT
    record_of(deployment, takes_part, failed["round"], 120.0)
    assert deployment.pids(VICTIM)["worker"] != pids["worker"]
    assert "Problem: The worker died: it ended by itself (signal 9)" in deployment.sites[VICTIM].text


def test_a_site_that_hangs_costs_one_timeout_and_comes_back(deployment: Deployment) -> None:
    before = last_round(deployment)
    with caught_in_a_round(deployment) as pids:
        for pid in (pids["supernode"], pids["supervisor"]):
            os.kill(pid, signal.SIGSTOP)
    failed = record_of(deployment, lambda r: VICTIM in r["failed"], before, TIMEOUT + 120.0)
    assert failed["failed"][VICTIM] == f"no reply within {TIMEOUT:g} s"
    assert failed["ok"] == 2
    # The others are not held up again and again.
    without = record_of(deployment, lambda r: VICTIM not in r["sampled"], failed["round"], 120.0)
    assert not without["failed"]
    assert without["seconds"]["round"] < TIMEOUT
    for pid in (pids["supervisor"], pids["supernode"], pids["worker"]):
        os.kill(pid, signal.SIGCONT)
    again = record_of(deployment, takes_part, without["round"], 180.0)
    lost = [
        r for r in deployment.rounds(RUN) if failed["round"] <= r["round"] < again["round"] and VICTIM in r["failed"]
    ]
    assert lost == [failed]


def test_a_killed_site_that_starts_again_gets_work_again(deployment: Deployment) -> None:
    before, killed = last_round(deployment), deployment.sites[VICTIM]
    with caught_in_a_round(deployment) as pids:
        # The SuperNode first, because it would say good-bye to the server where its supervisor is gone.
        for who in ("supernode", "supervisor", "worker"):
            os.kill(pids[who], signal.SIGKILL)
    killed.process.wait()
    deployment.start_site(VICTIM, "--data", str(deployment.data(VICTIM)))
    failed = record_of(deployment, lambda r: VICTIM in r["failed"], before, TIMEOUT + 120.0)
    assert failed["ok"] == 2
    assert failed["failed"][VICTIM] in (f"no reply within {TIMEOUT:g} s", "the client disconnected")
    # Flower holds the key of a node that has not said good-bye until two of its heartbeats are missing.
    deployment.sites[VICTIM].says(r"Waiting: .*key", 60.0)
    again = record_of(deployment, takes_part, failed["round"], 240.0)
    lost = [
        r for r in deployment.rounds(RUN) if failed["round"] < r["round"] < again["round"] and VICTIM in r["failed"]
    ]
    assert len(lost) <= 1  # the same name, twice on line for some seconds


def test_the_run_has_all_its_rounds_and_a_sound_model_and_can_be_stopped(deployment: Deployment) -> None:
    stopped = deployment.stop_run(RUN)
    assert stopped.returncode == 0, stopped.stderr
    run = deployment.others[0]
    assert run.ends(90.0) == 1
    assert "The run was stopped." in run.text.splitlines()[-1]
    rounds = deployment.rounds(RUN)
    assert [record["round"] for record in rounds] == list(range(1, len(rounds) + 1))
    assert rounds[-1]["validation_accuracy"] > 0.8
    assert {name for record in rounds for name in (*record["failed"], *record["validation_failed"])} == {VICTIM}
    checkpoint = newest_checkpoint(deployment.runs / RUN)
    assert checkpoint is not None
    assert checkpoint.round >= rounds[-1]["round"]
    assert np.isfinite(checkpoint.current.vector).all()
    for program in (run, *deployment.sites.values()):
        assert "Traceback" not in program.text
