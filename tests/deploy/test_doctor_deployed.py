"""The doctor beside a real ``pfedgp server``, and the sentences that reach the user of a real ``pfedgp client``."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp.local_processes import free_ports
from pfedgp.operator.addresses import is_open
from pfedgp.operator.certificates import issue
from tests.deploy.mis_setups import Authority, listening, over_tls, silent

pytestmark = pytest.mark.slow

# The time from the start of a client, whose imports a busy machine makes slow, to its sentence.
LIMIT = 20.0 if os.environ.get("CI") is None else 60.0
SHIFTED = """\
import sys, time
from pfedgp.cli import main
from pfedgp.doctor import fleet_call
fleet_call.local_time = lambda: time.time() + 600
sys.exit(main(sys.argv[1:]))
"""


class Deployment(NamedTuple):
    """Where a server listens, and its folders."""

    fleet: str
    control: str
    certs: Path
    state: Path

    @property
    def ca(self) -> Path:
        return self.certs / "ca.crt"

    def key(self, name: str) -> Path:
        return self.certs / "clients" / name


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    folder = tmp_path_factory.mktemp("server")
    issue(folder / "certs", ["127.0.0.1"], ["ward-1", "ward-2"])
    control, fleet = free_ports(2)
    here = Deployment(f"127.0.0.1:{fleet}", f"127.0.0.1:{control}", folder / "certs", folder / "state")
    command = ["server", "--certs", str(here.certs), "--state", str(here.state)]
    command += ["--fleet-address", here.fleet, "--control-address", here.control]
    with running(command, folder / "server.log"):
        deadline = time.monotonic() + 120
        while "registered ward-1, ward-2" not in (folder / "server.log").read_text():
            assert time.monotonic() < deadline, (folder / "server.log").read_text()
            time.sleep(0.2)
        assert is_open("127.0.0.1", fleet)
        yield here


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=rng.random((40, 8)), y=np.arange(40) % 2)
    return tmp_path / "data.npz"


@contextmanager
def running(arguments: Sequence[str], log: Path, program: Sequence[str] = ("-m", "pfedgp")) -> Iterator[int]:
    """A ``pfedgp`` process that writes to `log`; yields its number, and stops it at the end."""
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, *program, *arguments], stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
    try:
        yield process.pid
    finally:
        with suppress(ProcessLookupError):
            process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def wait_for(word: str, log: Path, limit: float = LIMIT) -> str:
    """The line of a log that holds a word, once it is there."""
    deadline = time.monotonic() + limit
    while True:
        for line in log.read_text(errors="replace").splitlines():
            if word in line:
                return line
        assert time.monotonic() < deadline, log.read_text(errors="replace")
        time.sleep(0.1)


def doctor(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, object]]]:
    """Exit code and the checks of a report by topic."""
    capsys.readouterr()
    code = main(["doctor", *map(str, arguments), "--json"])
    return code, {check["topic"]: check for check in json.loads(capsys.readouterr().out)["checks"]}


def test_a_sound_deployment_is_found_sound_from_both_sides(
    server: Deployment, data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = ["--superlink", server.fleet, "--ca", str(server.ca), "--key", str(server.key("ward-1"))]
    client = ["client", "--name", "ward-1", *site, "--data", str(data), "--state", str(tmp_path / "site")]
    with running(client, tmp_path / "log"):
        wait_for("Connected to", tmp_path / "log", 60)

        code, checks = doctor(*site, "--state", tmp_path / "site", "--data", data, capsys=capsys)
        assert code == 0, checks
        assert {"key", "CA", "port", "TLS", "clock", "registration", "disk", "device", "data"} <= set(checks)
        assert "runs on this folder" in str(checks["client"]["fact"])
        assert ", connected" in str(checks["client"]["fact"])

        code, checks = doctor("--state", server.state, capsys=capsys)
        assert code == 0, checks
        assert {"superlink", "superexec", "certificates", "database", "as a site sees it"} <= set(checks)
        assert "127.0.0.1" in str(checks["Control port"]["fact"]) and checks["Control port"]["status"] == "ok"
        assert checks["Fleet port"]["problem"]["code"] == "fleet-local"  # this test's server is for loopback alone
        assert checks["sites"]["fact"] == "ward-1 is connected, ward-2 is not connected"
        time.sleep(1)
        assert "Waiting" not in (tmp_path / "log").read_text()


def test_a_renewed_certificate_needs_a_restart(server: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    issue(server.certs, [], [], renew_server=True)

    code, checks = doctor("--state", server.state, capsys=capsys)

    assert code == 0 and checks["certificates"]["problem"]["code"] == "old-certificate"


def test_a_client_says_within_seconds_what_is_wrong(server: Deployment, data: Path, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    issue(tmp_path / "others", ["localhost"], ["stranger"])
    stranger = tmp_path / "others" / "clients" / "stranger"
    ca, key = str(server.ca), str(server.key("ward-2"))
    own = str(authority.path)
    program = ("-m", "pfedgp")
    with (
        listening(over_tls(authority.server("127.0.0.1", begin=-30, end=-2))) as expired,
        listening(over_tls(Authority(tmp_path / "named").server("fl.example.org"))) as other_name,
        listening(silent) as deaf,
    ):
        named = str(tmp_path / "named" / "ca.crt")
        secure = {
            "was not issued by the CA": (program, server.fleet, own, key),
            "expired on": (program, expired, own, key),
            "but for fl.example.org": (program, other_name, named, key),
            "does not know the key": (program, server.fleet, ca, str(stranger)),
            "10 minutes ahead of": (("-c", SHIFTED), server.fleet, ca, key),
            "Nothing listens on": (program, f"127.0.0.1:{free_ports(1)[0]}", ca, key),
            "is not the Fleet port": (program, server.control, ca, key),
            "stays silent": (program, deaf, ca, key),
        }
        lines = set()
        for number, (words, (start, superlink, ca_file, key_file)) in enumerate(secure.items()):
            options = ["--superlink", superlink, "--ca", ca_file, "--key", key_file]
            lines.add(_said(words, options, data, tmp_path / str(number), start))
        lines.add(_said("speaks TLS", ["--superlink", server.fleet, "--insecure"], data, tmp_path / "plain", program))
    assert len(lines) == len(secure) + 1


def test_a_killed_client_leaves_its_key_locked_for_a_while(server: Deployment, data: Path, tmp_path: Path) -> None:
    options = ["--superlink", server.fleet, "--ca", str(server.ca), "--key", str(server.key("ward-2"))]
    client = ["client", "--name", "ward-2", *options, "--data", str(data)]
    with running([*client, "--state", str(tmp_path / "a")], tmp_path / "first"):
        wait_for("Connected to", tmp_path / "first", 60)
        with running([*client, "--state", str(tmp_path / "b")], tmp_path / "second"):
            line = wait_for("Waiting: ", tmp_path / "second", 60)
            assert "another client" in line and "65 s" in line
        nodes = json.loads((tmp_path / "a" / "client.json").read_text())
        os.kill(nodes["supernode"], signal.SIGKILL)
        wait_for("another client", tmp_path / "first", 60)


def _said(words: str, options: Sequence[str], data: Path, folder: Path, program: Sequence[str]) -> str:
    """What a client with these options says, without its time."""
    arguments = ["client", "--name", "ward-2", *options, "--data", str(data), "--state", str(folder)]
    log = folder.with_suffix(".log")
    with running(arguments, log, program):
        return wait_for(words, log).partition(": ")[2]
