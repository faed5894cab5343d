"""A site of a real deployment that sends what no site should: the round goes on without it, and says what was wrong."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from pfedgp.site.plan import SitePlan
from server.run.model_file import load_model
from tests.conftest import QUIET
from tests.deploy.deployment import Deployment
from tests.deploy.digit_images import write_digits
from tests.deploy.program import wait_for

pytestmark = pytest.mark.slow

CLASSES = {"ward-a": (0, 1), "ward-b": (2, 3), "ward-x": (4, 5)}
CULPRIT = "ward-x"
ROUNDS = 10
REASONS = {
    2: "the shared vector holds NaN or infinity",
    3: "the shared vector has shape",
    4: "the shared vector is '<f8', not float32",
    5: "the update's norm is implausibly large",
    6: "sample count 0 is not positive",
    7: "ValueError",
    8: "the reply carries another client's name",
    9: "the client process died",
}
# The product's own SuperNode with its agent and worker, but for the app that the worker loads.
PROGRAM = """
import sys
from pfedgp.site import supernode
supernode.APP = "misbehaving_app:app"
sys.exit(supernode.main(sys.argv[1:]))
"""


@contextmanager
def misbehaving_site(deployment: Deployment, data: Path) -> Iterator[Path]:
    """A site that has another app than the product's; yields its log."""
    state = deployment.site_state(CULPRIT)
    (state / "flwr").mkdir(parents=True)
    config = {"client-name": CULPRIT, "data-path": str(data), "label-column": "label", "device": "cpu"}
    plan = SitePlan(
        deployment.superlink,
        str(deployment.ca),
        str(deployment.key(CULPRIT)),
        config | {"state": str(state), "site": str(state / "site")},
        str(state),
        CULPRIT,
    )
    here = Path(__file__).resolve()
    modules = os.pathsep.join([str(here.parent / "misbehaving"), str(here.parents[2])])
    log = deployment.folder / f"{CULPRIT}.log"
    with log.open("wb") as file, Path(os.devnull).open("w") as events:
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, plan.to_json(), str(events.fileno()), str(os.getpid())],
            env=os.environ
            | QUIET
            | {"PYTHONPATH": modules, "FLWR_HOME": str(state / "flwr"), "FLWR_LOG_LEVEL": "INFO"},
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            pass_fds=[events.fileno()],
            start_new_session=True,
        )
    try:
        yield log
    finally:
        process.terminate()
        try:
            process.wait(20.0)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def test_every_misdeed_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    with Deployment(tmp_path, list(CLASSES)) as deployment:
        deployment.start_server()
        data = {name: write_digits(tmp_path / "data" / name, classes, 30) for name, classes in CLASSES.items()}
        honest = [name for name in CLASSES if name != CULPRIT]
        for name in honest:
            deployment.start_site(name, "--data", str(data[name]))
        with misbehaving_site(deployment, data[CULPRIT]) as log:
            wait_for(lambda: "SuperNode ID" in log.read_text(errors="replace"), 90.0, "the third site is connected")
            deployment.connected(*honest)
            run = deployment.start_run(
                "watched",
                *("--rounds", str(ROUNDS), "--clients-per-round", "3", "--set", "min-clients=3"),
                *("--set", "evaluate-every=10", "--set", "personalise=false"),
            )
            assert run.ends(400.0) == 0, run.text
        rounds = {record["round"]: record for record in deployment.rounds("watched")}
        assert sorted(rounds) == list(range(1, ROUNDS + 1))
        for number, record in rounds.items():
            assert record["ok"] == (2 if number in REASONS else 3), record
            assert set(record["failed"]) == ({CULPRIT} if number in REASONS else set())
        for number, reason in REASONS.items():
            assert rounds[number]["failed"][CULPRIT].startswith(reason)
            assert f"failed: {CULPRIT} ({rounds[number]['failed'][CULPRIT]})" in run.text
        # What the exception quoted is in the site's own log alone.
        assert "patient 4711" in log.read_text(errors="replace")
        for file in [*deployment.state.rglob("*.log"), *(deployment.runs / "watched").rglob("*.json*"), run.log]:
            assert "patient 4711" not in file.read_text(errors="replace"), file
        summary = deployment.summary("watched")
        assert sum(summary["failures"][CULPRIT].values()) == len(REASONS)
        assert summary["accuracy"] > 0.8
        vector, _ = load_model(deployment.runs / "watched" / "final")
        assert np.isfinite(vector).all()
        assert np.abs(vector).max() < 1e3
