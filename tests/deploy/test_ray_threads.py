"""A signal that comes while a thread is about to ask Ray for a client's reply: the simulation ends in order."""

import signal
import sys
from pathlib import Path

import pytest

from tests.deploy.namespaces import Host
from tests.deploy.program import Program

# What a loaded machine does now and then: a thread waits for its turn on the last steps to Ray.
LATE_THREADS = """
import sys, time
from ray._private.worker import Worker
from pfedgp.cli import main

get_objects = Worker.get_objects

def late(*arguments, **options):
    time.sleep(1.5)
    return get_objects(*arguments, **options)

Worker.get_objects = late
sys.exit(main())
"""


@pytest.mark.slow
def test_no_thread_meets_a_ray_that_has_been_shut_down(tmp_path: Path) -> None:
    command = ("simulate", "--engine", "ray", "--clients", "5", "--rounds", "2000", "--workers", "2")
    program = (sys.executable, "-c", LATE_THREADS)
    out = ("--out", str(tmp_path / "run"))
    with Program(tmp_path / "log", Host(), (*command, *out), program=program) as running:
        running.says(r"^round +1/", 180)
        running.process.send_signal(signal.SIGTERM)
        assert running.ends(120) == 143, running.text[-2000:]
    assert running.text.endswith("\npfedgp: Stopped.\n")
