"""The containers: a federation from docker-compose.yml, with faults; `make compose-test` starts it."""

import csv
import ipaddress
import json
import os
import re
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from pfedgp.processes.flower import free_ports

ROOT = Path(__file__).resolve().parents[2]
SERVICES = ("superlink", "superexec", "client-00", "client-01", "client-02")
ROUND = re.compile(r"^round +(\d+)/\d+ +(\d+) ok +(\d+) failed")
# The same federation as docker/data.sh makes.
SIMULATION = ("--clients", "5", "--classes-per-client", "4", "--set", "unseen-clients=2", "--clients-per-round", "3")
HOUR = 3600


def _why_not() -> str:
    if os.environ.get("PFEDGP_COMPOSE_TEST") != "1":
        return "takes minutes and an image: run make compose-test"
    if not shutil.which("docker") or subprocess.run(["docker", "compose", "version"], capture_output=True).returncode:
        return "no docker with compose"
    return "no Docker engine" if subprocess.run(["docker", "info"], capture_output=True).returncode else ""


WHY_NOT = _why_not()
pytestmark = [
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
    """A compose project of its own name, port and results folder."""

    def __init__(self, folder: Path) -> None:
        self.name = f"pfedgp-test-{os.getpid()}"
        self.out = folder / "out"
        self.image = f"pfedgp:test-{os.getpid()}"
        (self.port,) = free_ports(1)
        self.environment = os.environ | {
            "OUT": str(self.out),
            "FLEET_PORT": str(self.port),
            "PFEDGP_IMAGE": self.image,
            "COMPOSE_ANSI": "never",
        }

    def command(self, *arguments: str) -> list[str]:
        return ["docker", "compose", "-p", self.name, "-f", str(ROOT / "docker-compose.yml"), *arguments]

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

    def health(self) -> dict[str, str]:
        return {service: str(self.inspect(service)["State"]["Health"]["Status"]) for service in SERVICES}

    def wait_healthy(self, seconds: float = 400) -> None:
        deadline = time.monotonic() + seconds
        while set(self.health().values()) != {"healthy"}:
            assert time.monotonic() < deadline, self.health()
            time.sleep(1)

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
        deadline = time.monotonic() + seconds
        while not re.search(pattern, self.text, re.MULTILINE):
            assert self.process.poll() is None, f"ended before {pattern!r}:\n{self.text}"
            assert time.monotonic() < deadline, f"no {pattern!r}:\n{self.text}"
            time.sleep(0.1)

    def rounds(self) -> list[tuple[int, int, int]]:
        return [(int(m[1]), int(m[2]), int(m[3])) for line in self.lines if (m := ROUND.match(line))]

    def end(self, seconds: float = 1200) -> int:
        code = self.process.wait(seconds)
        self._reader.join(10)
        return code


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("compose"))
    try:
        began = time.monotonic()
        project.compose("build", "setup")
        print(f"\nimage built in {time.monotonic() - began:.0f} s")
        project.compose("up", "--detach", "superexec", "client-00", "client-01", "client-02")
        project.wait_healthy()
        print(f"all services healthy after {time.monotonic() - began:.0f} s")
        print(project.compose("ps"))
        yield project
    finally:
        if os.environ.get("PFEDGP_COMPOSE_KEEP") != "1":
            own = docker("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.project={project.name}")
            docker("rm", "--force", *own.split(), check=False)  # those of `run` too, which `down` leaves
            project.compose("down", "--volumes", "--timeout", "20", check=False)
            docker("rmi", project.image, check=False)


def runner(project: Project, *arguments: str) -> Watched:
    return Watched(project.command("run", "--rm", "-T", "runner", *arguments), project.environment)


def metrics(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def answers(host: str, port: int, ca: str) -> bool:
    """Whether the server of this federation answers; some networks accept every TCP connection in its place."""
    context = ssl.create_default_context(cadata=ca)
    context.check_hostname = False
    try:
        with socket.create_connection((host, port), timeout=3) as plain, context.wrap_socket(plain):
            return True
    except OSError:
        return False


def listeners(project: Project, service: str) -> set[str]:
    """Addresses beyond loopback on which a container listens."""
    found = set()
    for table in ("tcp", "tcp6"):
        for line in project.execute(service, "cat", f"/proc/net/{table}").stdout.splitlines()[1:]:
            _, local, _, state, *_ = line.split()
            address, port = local.split(":")
            packed = b"".join(bytes.fromhex(address[i : i + 8])[::-1] for i in range(0, len(address), 8))
            host = ipaddress.ip_address(packed)
            if state == "0A" and not host.is_loopback:
                found.add(f"{host}:{int(port, 16)}")
    return found


def test_image_has_no_tools_no_secret_and_no_setting_of_this_machine(project: Project) -> None:
    image = json.loads(docker("inspect", project.image))[0]
    print(f"image: {image['Size'] / 1e9:.2f} GB")
    assert image["Config"]["User"] == "1000:1000"
    told = docker("history", "--no-trunc", project.image) + json.dumps(image["Config"])
    told += docker("run", "--rm", "--entrypoint", "env", project.image)
    for name, value in os.environ.items():
        if name.startswith(("PIP_", "SSL_", "UV_")) and len(value) > 3:
            assert value not in told, f"the image tells {name} of this machine"
    assert socket.gethostname() not in told and not re.search(r"certificates|index-url|PRIVATE KEY", told)
    look = "for f in gcc cc make ld uv git; do command -v $f; done; ls -A /run/secrets /etc/pip.conf 2>/dev/null; id -u"
    assert docker("run", "--rm", "--entrypoint", "sh", project.image, "-c", look).split() == ["1000"]
    for user in ("0", "1000", "4321:4321"):
        assert "rounds" in docker("run", "--rm", "--user", user, "--read-only", project.image, "settings")


def test_only_the_fleet_port_answers(project: Project) -> None:
    published = {
        service: [port for port, host in project.inspect(service)["NetworkSettings"]["Ports"].items() if host]
        for service in SERVICES
    }
    assert published == {service: ["9092/tcp"] if service == "superlink" else [] for service in SERVICES}
    ca = project.execute("superexec", "cat", "/certs/ca.crt").stdout
    networks = project.inspect("superlink")["NetworkSettings"]["Networks"]
    control, fleet = (networks[f"{project.name}_{name}"]["IPAddress"] for name in ("control", "fleet"))
    assert answers("127.0.0.1", project.port, ca) and answers(fleet, 9092, ca)
    assert not any(answers(host, 8000, ca) for host in ("127.0.0.1", control, fleet))
    assert not answers(control, 9092, ca)
    assert listeners(project, "superlink") == {":::9092", f"{control}:8000"}
    assert {service: listeners(project, service) for service in SERVICES[1:]} == {
        service: set() for service in SERVICES[1:]
    }
    # Nor do sites reach the Control API, neither by its name nor at the address that they know.
    reach = "import socket; socket.create_connection(('{}', {}), 3)"
    assert project.execute("client-00", "python", "-c", reach.format("superlink", 9092)).returncode == 0
    refused = project.execute("client-00", "python", "-c", reach.format("superlink", 8000))
    assert "ConnectionRefusedError" in refused.stderr
    assert "gaierror" in project.execute("client-00", "python", "-c", reach.format("control", 8000)).stderr


def test_every_service_has_its_own_secrets_only(project: Project) -> None:
    for number in range(3):
        assert project.execute(f"client-0{number}", "ls", "/keys").stdout.split() == ["ca.crt", "key"]
        assert project.execute(f"client-0{number}", "ls", "/data").stdout.split() == ["digits"]
    keys = {project.execute(f"client-0{number}", "cat", "/keys/key").stdout for number in range(3)}
    assert len(keys) == 3 and all("PRIVATE KEY" in key for key in keys)
    assert project.execute("superexec", "ls", "/certs").stdout.split() == ["ca.crt"]
    server = project.execute("superlink", "find", "/certs", "-type", "f").stdout.split()
    names = sorted(path.removeprefix("/certs/") for path in server)
    public = [f"clients/client-0{number}.pub" for number in range(3)]
    assert names == ["ca.crt", *public, "server.crt", "server.key"]
    for service in SERVICES:
        assert project.inspect(service)["HostConfig"]["Memory"] > 0
        assert project.inspect(service)["HostConfig"]["RestartPolicy"]["Name"] == "unless-stopped"
        assert project.execute(service, "touch", "/opt/pfedgp/x").returncode != 0


def test_operator_sees_server_and_sites(project: Project) -> None:
    shown = project.compose("run", "--rm", "-T", "runner", "status")
    assert "certificate valid until" not in shown  # the certificate is not the operator's to read
    assert all(f"client-0{number}: connected" in shown for number in range(3)), shown


def test_the_doctor_works_in_the_servers_container(project: Project) -> None:
    done = project.execute("superlink", "pfedgp", "doctor", "--state", "/state")
    assert done.returncode == 0, done.stdout + done.stderr
    control, certificates = (
        next(line for line in done.stdout.splitlines() if f"{topic}:" in line)
        for topic in ("Control port", "certificates")
    )
    assert control.startswith("ok ") and certificates.startswith("ok "), done.stdout
    told = runner(project, "doctor")
    assert told.end() == 2
    assert told.lines[-1].endswith("docker compose exec superlink pfedgp doctor --state /state")
    assert "Control API" not in project.compose("logs", "superlink")


def test_accuracy_is_that_of_the_simulation_and_results_are_on_the_host(project: Project, tmp_path: Path) -> None:
    began = time.monotonic()
    run = runner(project, "run", "--rounds", "20", "--seed", "0", "--out", "/state/runs/plain")
    assert run.end() == 0, run.text
    print(f"20 rounds in {time.monotonic() - began:.0f} s")
    assert [(ok, failed) for _, ok, failed in run.rounds()] == [(3, 0)] * 20
    folder = project.out / "plain"
    assert run.lines[-1] == str(folder)
    for name in ("best/model.safetensors", "final/model.safetensors", "report.html", "config.toml", "summary.json"):
        assert (folder / name).stat().st_size > 0 and (folder / name).stat().st_uid == 1000
    with (folder / "clients.csv").open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == ["client-00", "client-01", "client-02"]
    simulated = tmp_path / "simulated"
    command = [sys.executable, "-P", "-m", "pfedgp", "simulate", *SIMULATION, "--rounds", "20", "--seed", "0"]
    subprocess.run([*command, "--out", str(simulated)], check=True, capture_output=True, cwd=tmp_path)
    here, there = (json.loads((f / "summary.json").read_text()) for f in (folder, simulated))
    print(f"accuracy: containers {here['accuracy']:.4f}, simulation {there['accuracy']:.4f}")
    assert here["status"] == "completed"
    assert abs(here["accuracy"] - there["accuracy"]) <= 0.01
    (folder / "report.html").unlink()
    assert project.compose("run", "--rm", "-T", "runner", "report", "plain").split() == [f"{folder}/report.html"]
    assert (folder / "report.html").stat().st_size > 0


def test_a_client_predicts_and_certifies_after_the_run(project: Project, tmp_path: Path) -> None:
    site = ("--site", "/state/site")
    own = project.execute("client-00", "pfedgp", "predict", *site, "--data", "/data/digits/test.npz", "--out", "-")
    assert own.returncode == 0, own.stderr
    rows = list(csv.DictReader(own.stdout.splitlines()))
    docker("cp", f"{project.container('client-00')}:/data/digits/test.npz", str(tmp_path / "new.npz"))
    with np.load(tmp_path / "new.npz") as new:
        assert len(rows) == len(new[new.files[0]]) > 0
    (tmp_path / "new.npz").chmod(0o644)
    mount = ("--volume", f"{tmp_path / 'new.npz'}:/new.npz:ro")
    alike = project.compose(
        *("run", "--rm", "-T", "--no-deps", *mount, "client-00", "predict", *site, "--data", "/new.npz", "--out", "-")
    )
    assert alike == own.stdout
    bound = project.execute(
        *("client-00", "pfedgp", "certify", *site, "--method", "held-out", "--data", "/data/digits/test.npz", "--json")
    )
    assert bound.returncode == 0, bound.stderr
    assert json.loads(bound.stdout)["site"] == "client-00"


def test_a_new_certificate_is_served_after_a_restart_of_the_superlink(project: Project) -> None:
    served = "import ssl; print(ssl.get_server_certificate(('control', 8000)))"
    before = project.execute("superexec", "python", "-c", served).stdout
    project.compose("run", "--rm", "-T", "setup", "renew")
    project.compose("restart", "superlink")
    run = runner(project, "run", "--rounds", "1", "--out", "/state/runs/renewed")
    assert run.end() == 0, run.text
    after = project.execute("superexec", "python", "-c", served).stdout
    assert "BEGIN CERTIFICATE" in before and "BEGIN CERTIFICATE" in after and before != after
    project.wait_healthy()


def test_client_killed_in_a_round_and_another_cut_off(project: Project) -> None:
    """Each costs at most the rounds that it is away in, and is given work again."""
    run = runner(
        *(project, "run", "--rounds", "20", "--local-epochs", "20", "--out", "/state/runs/faults"),
        *("--set", "round-timeout=75", "--set", "evaluate-every=1"),
    )
    run.wait_for(r"^round +1/20 ")
    time.sleep(1)
    docker("kill", project.container("client-02"))
    print(f"{time.strftime('%T')} killed client-02")
    docker("start", project.container("client-02"))
    run.wait_for(r"^round +3/20 ")
    cut, network = project.container("client-01"), f"{project.name}_fleet"
    docker("network", "disconnect", network, cut)
    print(f"{time.strftime('%T')} client-01 cut off")
    time.sleep(15)
    docker("network", "connect", "--alias", "client-01", network, cut)
    print(f"{time.strftime('%T')} client-01 connected again")
    assert run.end() == 0, run.text
    # The killed one may return 65 s after its end, when its node is free again: in time for the last rounds.
    rounds = metrics(project.out / "faults")
    assert [entry["round"] for entry in rounds] == list(range(1, 21))
    assert not rounds[0]["failed"]
    failed = {name for entry in rounds for name in entry["failed"]}
    assert "client-02" in failed and "client-00" not in failed
    # An answer that is on its way when the network goes may be lost: Flower sends it in two steps.
    assert sum("client-01" in entry["failed"] for entry in rounds) <= 1
    assert rounds[-1]["ok"] == 3 and not rounds[-1]["failed"]
    with (project.out / "faults" / "clients.csv").open(newline="") as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert set(rows) == {"client-00", "client-01", "client-02"}
    project.wait_healthy()


def test_superlink_killed_and_started_again_in_a_run(project: Project) -> None:
    run = runner(project, "run", "--rounds", "8", "--local-epochs", "10", "--out", "/state/runs/restart")
    run.wait_for(r"^round +2/8 ")
    docker("kill", project.container("superlink"))
    print(f"{time.strftime('%T')} killed the SuperLink")
    time.sleep(3)
    docker("start", project.container("superlink"))
    assert run.end() == 0, run.text
    assert len(run.rounds()) == 8
    assert json.loads((project.out / "restart" / "summary.json").read_text())["status"] == "completed"
    project.wait_healthy()


def test_server_app_killed_and_the_run_resumed(project: Project) -> None:
    run = runner(project, "run", "--rounds", "8", "--local-epochs", "10", "--out", "/state/runs/cut")
    run.wait_for(r"^round +3/8 ")
    docker("kill", project.container("superexec"))
    docker("start", project.container("superexec"))
    assert run.end() == 1, run.text
    assert run.lines[-1].endswith(": docker compose run --rm runner resume cut"), run.text
    project.wait_healthy()
    again = runner(project, "resume", "cut")
    assert again.end() == 0, again.text
    folder = project.out / "cut"
    assert [entry["round"] for entry in metrics(folder)] == list(range(1, 9))
    assert (folder / "report.html").exists()
    # The run before had the same settings, and kept its server app.
    whole = project.out / "restart"
    assert [entry["ok"] for entry in metrics(folder)] == [entry["ok"] for entry in metrics(whole)] == [3] * 8
    resumed, uncut = (load_file(run / "final" / "model.safetensors") for run in (folder, whole))
    assert all(np.abs(resumed[key] - uncut[key]).max() < 1e-6 for key in uncut)


def test_client_with_a_foreign_key_is_told_so(project: Project, tmp_path: Path) -> None:
    keys = "pfedgp certs --san superlink --client-names mallory --out /tmp/c >&2 && cat /tmp/c/clients/mallory"
    foreign = tmp_path / "foreign"
    foreign.write_text(docker("run", "--rm", "--entrypoint", "sh", project.image, "-c", keys))
    foreign.chmod(0o644)
    name = f"{project.name}-foreign"
    site = Watched(
        project.command(
            *("run", "--rm", "-T", "--no-deps", "--name", name, "--volume", f"{foreign}:/foreign:ro", "client-00"),
            *("client", "--name=mallory", "--superlink=superlink:9092", "--ca=/keys/ca.crt", "--key=/foreign"),
            *("--data=/data/digits", "--state=/tmp/state"),
        ),
        project.environment,
    )
    try:
        site.wait_for(r"The server does not know the key")
    finally:
        docker("rm", "--force", name, check=False)
        site.end()
    assert "Traceback" not in site.text
    project.wait_healthy()
