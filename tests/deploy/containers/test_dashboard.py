"""The operator's page beside a server in containers: who reaches it, what it says, and what Prometheus reads there."""

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pfedgp.processes.flower import free_ports
from tests.deploy.containers.compose import MARKS, ROOT, Project, docker, runner
from tests.waiting import wait_for

pytestmark = MARKS
FILES = ("docker/compose.server.yml", "docker/compose.dashboard.yml")
UP = ("superlink", "superexec", "dashboard")
SITE = "ward-1"
# Whether this server answers: some networks accept every TCP connection in the place of who is asked.
REACH = """
import socket, ssl
context = ssl.create_default_context(cafile="/certs/all/ca.crt")
context.check_hostname = False
try:
    with socket.create_connection(("{}", 8000), 5) as plain, context.wrap_socket(plain):
        print("reached")
except OSError as error:
    print(type(error).__name__)
"""
BOARD = (ROOT / "docker/grafana/pfedgp.json").read_text(encoding="utf-8")


class Page(Project):
    """A server with its page."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, FILES, "-page")
        self.certs = folder / "certs"
        (self.page_port,) = free_ports(1)
        owner = 1000 if os.getuid() == 0 else os.getuid()
        for made in (self.certs, self.out):
            made.mkdir()
            os.chown(made, owner, owner)
        self.owner = f"{owner}:{owner}"
        self.environment |= {
            "PFEDGP_UID": str(owner),
            "PFEDGP_GID": str(owner),
            "CERTS": str(self.certs / "all"),
            "FLEET_ADDRESS": "127.0.0.1",
            "DASHBOARD_PORT": str(self.page_port),
        }

    def run(self, *arguments: str) -> str:
        """A command in a container of the services' user, which sees the certificates."""
        return docker("run", "--rm", "--user", self.owner, "-v", f"{self.certs}:/certs", *arguments)

    def token(self) -> str:
        return self.compose("exec", "-T", "dashboard", "cat", "/token/dashboard.token").strip()

    def get(self, path: str, token: str = "") -> tuple[int, str]:
        """Status and body of a request from this host."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"http://127.0.0.1:{self.page_port}{path}", headers=headers)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=20) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def snapshot(self) -> dict[str, Any]:
        status, body = self.get("/state.json", self.token())
        assert status == 200, body
        return dict(json.loads(body))

    def beside(self, network: str, code: str) -> str:
        """What Python prints in a container on one of the project's networks."""
        on = ("--network", f"{self.name}_{network}", "--entrypoint", "python")
        return self.run(*on, self.image, "-c", code).strip()


@pytest.fixture(scope="module")
def page(image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """What docs/dashboard.md does, and one site."""
    page, site = Page(tmp_path_factory.mktemp("page")), ""
    assert page.image == image
    try:
        names = ("--san", "control", "--san", "superlink", "--client-names", SITE, "--make-keys")
        page.run(page.image, "certs", *names, "--out", "/certs/all")
        part = ("--dataset", "digits", "--clients", "5", "--classes-per-client", "4", "--client", "client-00")
        page.run(page.image, "export-client", *part, "--out", "/certs/digits")
        page.compose("up", "--detach")
        page.wait_healthy(services=UP)
        site = page.run(
            *("--detach", "--network", f"{page.name}_fleet", page.image, "client", "--name", SITE),
            *("--superlink", "superlink:9092", "--ca", "/certs/all/ca.crt", "--key", f"/certs/all/clients/{SITE}"),
            *("--data", "/certs/digits", "--state", "/tmp/state"),
        ).strip()
        yield page
    finally:
        if os.environ.get("PFEDGP_COMPOSE_KEEP") != "1":
            docker("rm", "--force", *filter(None, [site]), check=False)
            page.remove()


def test_only_this_host_reaches_it_and_only_with_the_token(page: Page) -> None:
    ports = page.inspect("dashboard")["NetworkSettings"]["Ports"]
    assert ports == {"8788/tcp": [{"HostIp": "127.0.0.1", "HostPort": str(page.page_port)}]}
    assert page.get("/health")[0] == 200
    assert (page.get("/")[0], page.get("/state.json")[0], page.get("/metrics")[0]) == (200, 401, 401)
    assert page.get("/state.json", "x" * 43)[0] == 401
    assert page.execute("dashboard", "stat", "-c", "%a", "/token/dashboard.token").stdout.strip() == "600"
    assert page.token() not in page.compose("logs", "dashboard")


def test_it_sees_the_server_and_its_site_and_changes_nothing(page: Page) -> None:
    wait_for(lambda: page.snapshot()["sites"][0]["connected"], 120.0, "the site is shown", every=2.0)
    shown = page.snapshot()
    assert shown["headline"]["text"] == "All is well: 1 of 1 site connected, no run under way."
    assert shown["server"]["answers"]
    assert [site["name"] for site in shown["sites"]] == [SITE]
    for folder in ("/state", "/state/runs", "/certs", "/opt/pfedgp"):
        assert page.execute("dashboard", "touch", f"{folder}/x").returncode != 0


def test_prometheus_reads_every_metric_of_the_grafana_board(page: Page) -> None:
    run = runner(page, "run", "--rounds", "2", "--clients-per-round", "1", "--out", "/state/runs/one")
    assert run.end() == 0, run.text
    status, body = page.get("/metrics", page.token())
    assert status == 200
    served = set(re.findall(r"^# TYPE (\w+) ", body, re.MULTILINE))
    asked = set(re.findall(r"\bpfedgp_\w+", BOARD))
    assert len(asked) > 15
    assert asked - served <= {"pfedgp_clipped_updates_total"}  # it has a line for each site whose update was shortened
    (shown,) = page.snapshot()["runs"]
    assert (shown["name"], shown["status"], shown["round"]) == ("one", "completed", 2)


def test_a_prometheus_on_its_network_reaches_the_page_and_no_port_that_runs_code(page: Page) -> None:
    ask = (
        "import urllib.request as u; r = u.Request('http://dashboard:8788/metrics', headers={'Authorization': 'Bearer "
        f"{page.token()}'}}); print(u.urlopen(r, timeout=20).status)"
    )
    assert page.beside("monitor", ask) == "200"
    address = page.inspect("superlink")["NetworkSettings"]["Networks"][f"{page.name}_control"]["IPAddress"]
    assert page.beside("control", REACH.format("control")) == "reached"
    assert page.beside("control", REACH.format(address)) == "reached"
    assert page.beside("monitor", REACH.format("control")) == "gaierror"
    assert page.beside("monitor", REACH.format(address)) != "reached"


def test_it_says_that_the_server_is_gone(page: Page) -> None:
    page.compose("stop", "superexec", "superlink")
    shown = wait_for(lambda: _broken(page.snapshot()), 60.0, "the missing server is shown", every=2.0)
    assert not shown["server"]["answers"]
    assert page.health(["dashboard"]) == {"dashboard": "healthy"}


def _broken(snapshot: dict[str, Any]) -> dict[str, Any] | None:
    return snapshot if snapshot["headline"]["level"] == "broken" else None
