"""A compose project for tests: its containers, the commands in them, and what they print."""

import json
import os
import re
import shutil
import subprocess
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pfedgp.processes.flower import free_ports
from tests.waiting import wait_for

__all__ = ["MARKS", "ROOT", "SERVICES", "Project", "Watched", "docker", "metrics", "runner"]

ROOT = Path(__file__).resolve().parents[3]
SERVICES = ("superlink", "superexec", "client-00", "client-01", "client-02")
ROUND = re.compile(r"^round +(\d+)/\d+ +(\d+) ok +(\d+) failed")
HOUR = 3600


def _why_not() -> str:
    if os.environ.get("PFEDGP_COMPOSE_TEST") != "1":
        return "takes minutes and an image: run make compose-test"
    version = ["docker", "compose", "version"]
    if not shutil.which("docker") or subprocess.run(version, capture_output=True, check=False).returncode:
        return "no docker with compose"
    return "no Docker engine" if subprocess.run(["docker", "info"], capture_output=True, check=False).returncode else ""


WHY_NOT = _why_not()
MARKS = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.timeout(HOUR),
    pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT),
]


def docker(*arguments: str, check: bool = True) -> str:
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True, check=False)
    assert not check or done.returncode == 0, f"docker {' '.join(arguments)}: {done.stdout}{done.stderr}"
    return done.stdout


class Project:
    """A compose project of its own name, port and results folder.

    Parameters
    ----------
    folder : Path
    files : sequence of str
        Compose files of this project, from the root.
    part : str
        Makes the name another one.
    """

    def __init__(self, folder: Path, files: Sequence[str] = ("docker-compose.yml",), part: str = "") -> None:
        self.name = f"pfedgp-test-{os.getpid()}{part}"
        self.out, self.files = folder / "out", files
        self.image = f"pfedgp:test-{os.getpid()}"
        (self.port,) = free_ports(1)
        self.environment = os.environ | {
            "OUT": str(self.out),
            "FLEET_PORT": str(self.port),
            "PFEDGP_IMAGE": self.image,
            "COMPOSE_ANSI": "never",
        }

    def command(self, *arguments: str) -> list[str]:
        named = [word for file in self.files for word in ("-f", str(ROOT / file))]
        return ["docker", "compose", "-p", self.name, *named, *arguments]

    def compose(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            self.command(*arguments), env=self.environment, capture_output=True, text=True, cwd=ROOT, check=False
        )
        assert not check or done.returncode == 0, f"{' '.join(arguments)}: {done.stdout[-4000:]}{done.stderr[-4000:]}"
        return done.stdout

    def container(self, service: str) -> str:
        return f"{self.name}-{service}-1"

    def inspect(self, service: str) -> dict[str, Any]:
        return dict(json.loads(docker("inspect", self.container(service)))[0])

    def health(self, services: Sequence[str] = SERVICES) -> dict[str, str]:
        return {service: str(self.inspect(service)["State"]["Health"]["Status"]) for service in services}

    def wait_healthy(self, seconds: float = 400, services: Sequence[str] = SERVICES) -> None:
        wait_for(lambda: set(self.health(services).values()) == {"healthy"}, seconds, "healthy services", every=1.0)

    def remove(self) -> None:
        """Its containers, those of ``run`` too, which ``down`` leaves, networks and volumes."""
        own = docker("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.project={self.name}")
        docker("rm", "--force", *own.split(), check=False)
        self.compose("down", "--volumes", "--timeout", "20", check=False)

    def execute(self, service: str, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["docker", "exec", self.container(service), *command], capture_output=True, text=True, check=False
        )


class Watched:
    """A command whose lines are collected while it runs."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.lines: list[str] = []
        self.process = subprocess.Popen(
            command, env=environment, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            print(f"{time.strftime('%T')} {line.rstrip()}", flush=True)

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def wait_for(self, pattern: str, seconds: float = 600) -> None:
        def look() -> bool:
            ended = self.process.poll() is not None
            found = re.search(pattern, self.text, re.MULTILINE) is not None
            assert found or not ended, f"ended before {pattern!r}:\n{self.text}"
            return found

        wait_for(look, seconds, pattern)

    def rounds(self) -> list[tuple[int, int, int]]:
        return [(int(m[1]), int(m[2]), int(m[3])) for line in self.lines if (m := ROUND.match(line))]

    def end(self, seconds: float = 1200) -> int:
        code = self.process.wait(seconds)
        self._reader.join(10)
        return code


def runner(project: Project, *arguments: str) -> Watched:
    return Watched(project.command("run", "--rm", "-T", "runner", *arguments), project.environment)


def metrics(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
