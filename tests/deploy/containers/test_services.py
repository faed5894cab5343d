"""The containers: what is in the image, who reaches whom, and what an operator sees."""

import ipaddress
import json
import os
import re
import socket
import ssl
from pathlib import Path

from tests.deploy.containers.compose import MARKS, SERVICES, Project, Watched, docker, runner

pytestmark = MARKS


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
    assert socket.gethostname() not in told
    assert not re.search(r"certificates|index-url|PRIVATE KEY", told)
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
    assert answers("127.0.0.1", project.port, ca)
    assert answers(fleet, 9092, ca)
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
    assert len(keys) == 3
    assert all("PRIVATE KEY" in key for key in keys)
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
    assert control.startswith("ok "), done.stdout
    assert certificates.startswith("ok "), done.stdout
    told = runner(project, "doctor")
    assert told.end() == 2
    assert told.lines[-1].endswith("docker compose exec superlink pfedgp doctor --state /state")
    assert "Control API" not in project.compose("logs", "superlink")


def test_a_new_certificate_is_served_after_a_restart_of_the_superlink(project: Project) -> None:
    served = "import ssl; print(ssl.get_server_certificate(('control', 8000)))"
    before = project.execute("superexec", "python", "-c", served).stdout
    project.compose("run", "--rm", "-T", "setup", "renew")
    project.compose("restart", "superlink")
    run = runner(project, "run", "--rounds", "1", "--out", "/state/runs/renewed")
    assert run.end() == 0, run.text
    after = project.execute("superexec", "python", "-c", served).stdout
    assert "BEGIN CERTIFICATE" in before
    assert "BEGIN CERTIFICATE" in after
    assert before != after
    project.wait_healthy()


def test_client_with_a_foreign_key_is_told_so(project: Project, tmp_path: Path) -> None:
    keys = (
        "pfedgp certs --san superlink --client-names mallory --make-keys --out /tmp/c >&2 && cat /tmp/c/clients/mallory"
    )
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
