"""Costs of a process and its children."""

import subprocess
import sys
from pathlib import Path

from pfedgp.benchmarking import process_costs
from tests.waiting import wait_for


def test_costs_of_a_process_include_its_children(tmp_path: Path) -> None:
    child = "import time\nwhile time.process_time() < 0.3: pass\n"
    code = (
        "import subprocess, sys, time\n"
        f"subprocess.run([sys.executable, '-c', {child!r}])\n"
        f"open({str(tmp_path / 'done')!r}, 'w').close()\ntime.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code])
    try:
        wait_for((tmp_path / "done").exists, 120, "the end of the child")
        assert process_costs.below(process.pid) == [process.pid]
        assert process_costs.cpu_seconds_of([process.pid]) >= 0.29
        assert process_costs.megabytes_of([process.pid]) > 1.0
    finally:
        process.kill()
        process.wait()
