"""What is under way between server app and sites: SuperLinks killed again and again, an app that dies, a full disk."""

import os
import random
import signal
import time
from collections.abc import Iterator
from functools import partial

import pytest

from server.run.model_file import load_model
from tests.deploy.deployment import WARDS, Deployment, deployed
from tests.deploy.program import wait_for
from tests.deploy.test_faults_server import checkpoints, fill, small_disk

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ROUNDS, KILLS = 9, 4
OPTIONS = [
    *("--rounds", str(ROUNDS), "--clients-per-round", "3", "--seed", "8"),
    *("--set", "min-clients=3", "--set", "evaluate-every=2", "--set", "personalise=false"),
    *("--set", "on-failure=stop", "--set", "round-timeout=120"),
]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A server with three sites that wait."""
    with deployed(tmp_path_factory.mktemp("objects"), WARDS) as made:
        yield made


@pytest.fixture(scope="module")
def uninterrupted(deployment: Deployment) -> bytes:
    """The final model of a run that nothing happens to, which leaves nothing under way."""
    run = deployment.start_run("plain", *OPTIONS)
    assert run.ends(400.0) == 0, run.text
    assert left(deployment) == []
    return final(deployment, "plain")


def left(deployment: Deployment) -> list[str]:
    return sorted(path.name for name in ("messages", "objects") for path in (deployment.state / name).iterdir())


def final(deployment: Deployment, run: str) -> bytes:
    return load_model(deployment.runs / run / "final")[0].tobytes()


def works(deployment: Deployment, run: str, after: int) -> None:
    wait_for(lambda: len(deployment.rounds(run)) > after, 120.0, f"a round after {after}")


def test_superlinks_killed_at_any_moment_change_no_bit(deployment: Deployment, uninterrupted: bytes) -> None:
    assert deployment.server is not None
    draw = random.Random(3)
    run = deployment.start_run("killed", *OPTIONS)
    for kill in range(KILLS):
        works(deployment, "killed", kill)
        time.sleep(draw.uniform(0.0, 1.0))
        os.kill(deployment.processes()["superlink"], signal.SIGKILL)
        deployment.server.says("the superlink runs again", 60.0, kill + 1)
    assert run.ends(400.0) == 0, run.text
    assert [(r["round"], r["ok"]) for r in deployment.rounds("killed")] == [(t, 3) for t in range(1, ROUNDS + 1)]
    assert final(deployment, "killed") == uninterrupted
    assert left(deployment) == []


def stopped_before_others(deployment: Deployment, victim: str) -> int:
    """Stop a site's worker in a round that the other sites end; its process id.

    One that is stopped between the end of its training and its reply has progress that the others cannot pass: it goes
    on, and is stopped again.
    """
    worker, others = deployment.pids(victim)["worker"], [name for name in WARDS if name != victim]
    until = time.monotonic() + 120.0

    def passed(before: int) -> bool:
        return all(deployment.progress(name) > before for name in others)

    while True:
        os.kill(worker, signal.SIGSTOP)
        before = deployment.progress(victim)
        try:
            wait_for(partial(passed, before), 30.0, "the others have trained")
        except AssertionError:
            if time.monotonic() > until:
                raise
            os.kill(worker, signal.SIGCONT)
            time.sleep(0.5)
        else:
            return worker


def test_what_a_killed_server_app_leaves_is_removed(deployment: Deployment) -> None:
    run, victim = deployment.start_run("app", *OPTIONS), next(iter(WARDS))
    works(deployment, "app", 1)
    app = deployment.server_app()
    worker = stopped_before_others(deployment, victim)
    os.kill(app, signal.SIGSTOP)
    os.kill(worker, signal.SIGCONT)
    wait_for(lambda: left(deployment), 60.0, "a reply that nobody takes")
    os.kill(app, signal.SIGKILL)
    assert run.ends(240.0) == 1
    wait_for(lambda: not left(deployment), 120.0, "nothing is left")


def test_a_disk_without_room_for_messages_holds_a_run_until_there_is_some(
    deployment: Deployment, uninterrupted: bytes
) -> None:
    if os.geteuid() != 0:
        pytest.skip("a disk of its own needs root")
    folder, log = deployment.state / "messages", deployment.state / "logs" / "superlink.log"
    folder.rmdir()
    with small_disk(folder, megabytes=4):
        run = deployment.start_run("full", *OPTIONS)
        wait_for(lambda: checkpoints(deployment.runs / "full")[-1:] >= [2], 120.0, "a checkpoint of round 2")
        filler = fill(folder)
        wait_for(lambda: "make room and rights there" in log.read_text(), 60.0, "the log names the folder")
        time.sleep(5.0)
        done = len(deployment.rounds("full"))
        assert done < ROUNDS
        filler.unlink()
        assert run.ends(400.0) == 0, run.text
        assert "Traceback" not in run.text
        assert final(deployment, "full") == uninterrupted
