"""A simulation on a Ray cluster of two nodes, both on this machine's loopback interface, as in docs/simulate.md."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from pfedgp.processes.flower import flower_program, free_ports
from pfedgp_core.config import Settings
from tests.deploy.program import PROGRAM
from tests.federation_run import SMALL, Run, federate
from tests.waiting import wait_for

pytestmark = pytest.mark.slow
WORKERS = range(10002, 20000)  # Ray's own choice for the ports of workers, which it refuses for anything else
METHOD = SMALL.replace(method="fedper", rounds=4)
OPTIONS = ["clients", "clients-per-round", "rounds", "method"]


@contextmanager
def node(log: Path, *arguments: str) -> Iterator[None]:
    """One Ray node with one CPU; what it has started ends with it."""
    command = [flower_program("ray"), "start", "--block", "--num-cpus=1", "--node-ip-address=127.0.0.1", *arguments]
    with log.open("wb") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
    try:
        wait_for(lambda: b"Ray runtime started" in log.read_bytes(), 180, log.name)
        yield
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(60)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def simulate(address: str, out: Path) -> "subprocess.CompletedProcess[str]":
    """The documented command, with few clients."""
    usual, words = Settings().to_run_config(), list[str]()
    for key, value in METHOD.to_run_config().items():
        if key in OPTIONS:
            words += [f"--{key}", str(value)]
        elif value != usual[key]:
            words += ["--set", f"{key}={value}"]
    return subprocess.run(
        [*PROGRAM, "simulate", "--engine", "ray", "--cluster", address, *words, "--out", str(out)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_two_nodes_give_the_same_bits_as_one_process(tmp_path: Path) -> None:
    port = next(port for port in free_ports(100) if port not in WORKERS)
    address = f"127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="ray-", dir="/tmp") as folder, ExitStack() as stack:
        head = ("--head", f"--port={port}", "--include-dashboard=false", f"--temp-dir={folder}")
        stack.enter_context(node(tmp_path / "head.log", *head))
        stack.enter_context(node(tmp_path / "second.log", f"--address={address}"))
        done = simulate(address, tmp_path / "run")
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    assert f"The cluster at {address} has 2 machines with 2 CPUs." in done.stdout
    run, alone = Run(tmp_path / "run"), federate(METHOD, tmp_path / "alone")
    assert run.model("final").tobytes() == alone.model("final").tobytes()
    assert run.lasting == alone.lasting


def test_without_a_cluster_the_command_to_start_one_is_named(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    done = simulate(f"127.0.0.1:{port}", tmp_path / "run")
    assert done.returncode == 1
    assert f"There is no Ray cluster at 127.0.0.1:{port}" in done.stderr.splitlines()[-1]
    assert sys.executable not in done.stderr
