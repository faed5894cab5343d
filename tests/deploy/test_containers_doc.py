"""What docs/containers.md shows, as far as it can be tried without an engine: its paths, and the runner's verbs."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
DOC = (ROOT / "docs" / "containers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```sh\n(.*?)^```", DOC, re.MULTILINE | re.DOTALL)
OPERATOR = ROOT / "docker" / "operator.sh"
CONNECTION = ["--state", "/state", "--control", "control:8000", "--ca", "/certs/ca.crt"]
COMPOSE = (
    bool(shutil.which("docker"))
    and not subprocess.run(["docker", "compose", "version"], capture_output=True, check=False).returncode
)


def exec_commands() -> list[str]:
    """What the page has readers do inside containers that run."""
    return [line for block in BLOCKS for line in block.splitlines() if re.search(r"\bcompose\b.* exec ", line)]


def test_after_up_has_stopped_everything_its_commands_still_work() -> None:
    """Only the doctor needs a container that runs: it looks at that one's processes."""
    commands = exec_commands()
    assert commands
    assert all("pfedgp doctor" in command for command in commands), commands


def relative_paths(text: str) -> list[str]:
    """Paths in commands of compose that it would resolve elsewhere than the reader expects."""
    lines = re.sub(r"\\\n#?\s*", " ", text).splitlines()
    variables = [
        found
        for line in lines
        if re.search(r"\bexport\b|docker compose -f docker/", line)
        for found in re.findall(r"\b(?:CA|KEY|DATA|CERTS)=(?![$/])\S+", line)
    ]
    mounts = [found for line in lines if "docker compose" in line for found in re.findall(r" -v (?![$/])\S+", line)]
    return variables + mounts


@pytest.mark.parametrize(
    "path", [*sorted(ROOT.glob("docker/*.yml")), ROOT / "docs" / "containers.md"], ids=lambda p: p.name
)
def test_documented_paths_start_where_the_reader_is(path: Path) -> None:
    assert relative_paths(path.read_text(encoding="utf-8")) == []


def test_relative_paths_are_found() -> None:
    assert relative_paths("export SITE=a CA=./ca.crt KEY=$PWD/a\ndocker compose run -v ./new:/new a") == [
        "CA=./ca.crt",
        " -v ./new:/new",
    ]
    assert relative_paths("#   CERTS=certs \\\n#  docker compose -f docker/x.yml up") == ["CERTS=certs"]


@pytest.mark.skipif(not COMPOSE, reason="no docker with compose")
@pytest.mark.parametrize(
    ("file", "mounts"),
    [
        ("client", {"/keys/ca.crt": "ca.crt", "/keys/key": "ward-1", "/data": "images"}),
        ("server", {"/certs": "certs/all", "/certs/ca.crt": "certs/all/ca.crt", "/state/runs": "out"}),
    ],
)
def test_documented_site_and_server_get_the_files_of_the_readers_folder(
    tmp_path: Path, file: str, mounts: dict[str, str]
) -> None:
    """The documented variables, then ``config`` in place of ``up``, in a checkout that is elsewhere."""
    shutil.copytree(ROOT / "docker", tmp_path / "docker", ignore=shutil.ignore_patterns("wheels"))
    shutil.copy(ROOT / "docker-compose.yml", tmp_path)
    call = f"docker compose -f docker/compose.{file}.yml"
    (block,) = [block for block in BLOCKS if f"{call} up" in block]
    exports = [line for line in block.splitlines() if line.startswith("export ")]
    script = "\n".join([*exports, f"{call} --profile '*' config --format json"])
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        ["bash", "-euc", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    services = json.loads(done.stdout)["services"]
    found = {
        volume["target"]: volume["source"]
        for service in services.values()
        for volume in service["volumes"]
        if volume["type"] == "bind" and not volume["target"].startswith("/volumes/")
    }
    assert found == {target: str(tmp_path / source) for target, source in mounts.items()}
    if file == "server":
        assert services["runner"]["environment"] == {
            "PFEDGP_CALLED_AS": f"{call} run --rm runner",
            "PFEDGP_INTERNAL_CONTROL": "control:8000",
            "PFEDGP_RUNS_MOUNT": "./out:/state/runs",
        }
        assert services["superlink"]["environment"]["PFEDGP_INTERNAL_CONTROL"] == "control:8000"


@pytest.fixture
def called(tmp_path: Path) -> Path:
    """A folder with a pfedgp that prints its arguments, and an operator.sh of folders that exist here."""
    program = tmp_path / "pfedgp"
    program.write_text('#!/bin/sh\npwd\nfor word in "$@"; do echo "$word"; done\n')
    program.chmod(0o755)
    (tmp_path / "runs").mkdir()
    script = OPERATOR.read_text(encoding="utf-8").replace("cd /state/runs", f"cd {tmp_path}/runs")
    (tmp_path / "operator.sh").write_text(script)
    return tmp_path


def run(called: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": f"{called}{os.pathsep}{os.environ['PATH']}"} | variables
    command = ["sh", str(called / "operator.sh"), *words]
    return subprocess.run(command, cwd=called, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    "words", [("run", "--set", "a=b c"), ("resume", "mine"), ("status",), ("stop", "mine"), ("dashboard", "--json")]
)
def test_the_runner_connects_the_verbs_that_have_a_connection(called: Path, words: tuple[str, ...]) -> None:
    assert run(called, *words).stdout.splitlines() == [str(called), *words, *CONNECTION]


def test_the_runner_gives_other_verbs_no_option_that_they_do_not_have(called: Path) -> None:
    assert run(called, "report", "mine").stdout.splitlines() == [str(called / "runs"), "report", "mine"]
    assert run(called, "settings", "--toml").stdout.splitlines() == [str(called), "settings", "--toml"]
    assert run(called).stdout.splitlines() == [str(called)]


@pytest.mark.parametrize("compose", ["docker compose", "docker compose -f docker/compose.server.yml"])
def test_the_runner_names_the_doctor_that_sees_the_server(called: Path, compose: str) -> None:
    done = run(called, "doctor", PFEDGP_CALLED_AS=f"{compose} run --rm runner")
    assert (done.returncode, done.stdout) == (2, "")
    command = f"{compose} exec superlink pfedgp doctor --state /state"
    assert done.stderr.endswith(f": {command}\n")
    assert command in DOC


def test_a_restart_of_the_superlink_within_a_minute_leaves_the_superexec_healthy() -> None:
    services = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    check = services["superexec"]["healthcheck"]
    assert check["retries"] * int(check["interval"].removesuffix("s")) > 60
    assert services["runner"]["depends_on"]["superlink"] == {"condition": "service_healthy"}
