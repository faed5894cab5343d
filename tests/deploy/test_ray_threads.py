"""A signal that comes while a thread is about to ask Ray for a client's reply: the simulation ends in order."""

import signal
import sys
from pathlib import Path

import pytest

from tests.deploy.namespaces import Host
from tests.deploy.program import Program

# A loaded machine does now and then what this does always: a thread has to wait on its last step into Ray, and the
# process lives on for a while after the end of Ray.
LATE_THREADS = """
import sys, time
import ray
from ray._private.worker import Worker
from pfedgp.cli import main

get_objects, shutdown = Worker.get_objects, ray.shutdown

def late(self, references, *arguments, **options):
    core = self.core_worker
    time.sleep(1.0)
    core.get_objects(references, -1)
    return get_objects(self, references, *arguments, **options)

def slow(*arguments, **options):
    shutdown(*arguments, **options)
    time.sleep(4.0)

Worker.get_objects, ray.shutdown = late, slow
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
