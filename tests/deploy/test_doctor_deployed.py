"""The doctor beside a real ``pfedgp server``, and the sentences that reach the user of a real ``pfedgp client``."""

import json
import os
import re
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from pfedgp.cli import main
from pfedgp.operator.authority import issue
from pfedgp.processes.flower import free_ports
from tests.deploy.deployment import Deployment
from tests.deploy.mis_setups import Authority, listening, over_tls, silent, strangers_key
from tests.deploy.namespaces import Host
from tests.deploy.program import PROGRAM, Program

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


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A server that knows the keys of two sites."""
    with Deployment(tmp_path_factory.mktemp("server"), ["ward-1", "ward-2"]) as made:
        made.start_server().says("registered ward-1, ward-2", 90.0)
        yield made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "data.npz", x=rng.random((40, 8)), y=np.arange(40) % 2)
    return tmp_path / "data.npz"


def client(options: Sequence[str], data: Path, folder: Path, program: Sequence[str] = PROGRAM) -> Program:
    """A client under the name of ward-2, with a state folder and a log of its own."""
    arguments = ["client", "--name", "ward-2", *options, "--data", str(data), "--state", str(folder)]
    return Program(folder.with_suffix(".log"), Host(), arguments, program=program)


def doctor(*arguments: object, capsys: pytest.CaptureFixture[str]) -> tuple[int, dict[str, dict[str, object]]]:
    """Exit code and the checks of a report by topic."""
    capsys.readouterr()
    code = main(["doctor", *map(str, arguments), "--json"])
    return code, {check["topic"]: check for check in json.loads(capsys.readouterr().out)["checks"]}


def test_a_sound_deployment_is_found_sound_from_both_sides(
    server: Deployment, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = ["--superlink", server.superlink, "--ca", str(server.ca), "--key", str(server.key("ward-1"))]
    with server.start_site("ward-1", "--data", str(data)) as ward:
        ward.says("Connected to")

        code, checks = doctor(*site, "--state", server.site_state("ward-1"), "--data", data, capsys=capsys)
        assert code == 0, checks
        assert {"key", "CA", "port", "TLS", "clock", "registration", "disk", "device", "data"} <= set(checks)
        assert "runs on this folder" in str(checks["client"]["fact"])
        assert ", connected" in str(checks["client"]["fact"])

        code, checks = doctor("--state", server.state, capsys=capsys)
        assert code == 0, checks
        assert {"superlink", "superexec", "certificates", "database", "as a site sees it"} <= set(checks)
        assert "127.0.0.1" in str(checks["Control port"]["fact"])
        assert checks["Control port"]["status"] == "ok"
        assert checks["Fleet port"]["problem"]["code"] == "fleet-local"  # this test's server is for loopback alone
        assert checks["sites"]["fact"] == "ward-1 is connected, ward-2 is not connected"
        time.sleep(1)
        assert "Waiting" not in ward.text


def test_a_renewed_certificate_needs_a_restart(server: Deployment, capsys: pytest.CaptureFixture[str]) -> None:
    issue(server.certs, [], [], renew_server=True)

    code, checks = doctor("--state", server.state, capsys=capsys)

    assert code == 0
    assert checks["certificates"]["problem"]["code"] == "old-certificate"


def test_a_client_says_within_seconds_what_is_wrong(server: Deployment, data: Path, tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    stranger = strangers_key(tmp_path / "others")
    ca, key = str(server.ca), str(server.key("ward-2"))
    own = str(authority.path)
    shifted = (sys.executable, "-P", "-c", SHIFTED)
    with (
        listening(over_tls(authority.server("127.0.0.1", begin=-30, end=-2))) as expired,
        listening(over_tls(Authority(tmp_path / "named").server("fl.example.org"))) as other_name,
        listening(silent) as deaf,
    ):
        named = str(tmp_path / "named" / "ca.crt")
        secure = {
            "was not issued by the CA": (PROGRAM, server.superlink, own, key),
            "expired on": (PROGRAM, expired, own, key),
            "but for fl.example.org": (PROGRAM, other_name, named, key),
            "does not know the key": (PROGRAM, server.superlink, ca, str(stranger)),
            "10 minutes ahead of": (shifted, server.superlink, ca, key),
            "Nothing listens on": (PROGRAM, f"127.0.0.1:{free_ports(1)[0]}", ca, key),
            "is not the Fleet port": (PROGRAM, server.control, ca, key),
            "stays silent": (PROGRAM, deaf, ca, key),
        }
        lines = set()
        for number, (words, (start, superlink, ca_file, key_file)) in enumerate(secure.items()):
            options = ["--superlink", superlink, "--ca", ca_file, "--key", key_file]
            lines.add(_said(words, options, data, tmp_path / str(number), start))
        lines.add(_said("speaks TLS", ["--superlink", server.superlink, "--insecure"], data, tmp_path / "plain"))
    assert len(lines) == len(secure) + 1


def test_a_killed_client_leaves_its_key_locked_for_a_while(server: Deployment, data: Path, tmp_path: Path) -> None:
    options = ["--superlink", server.superlink, "--ca", str(server.ca), "--key", str(server.key("ward-2"))]
    with client(options, data, tmp_path / "a") as first:
        first.says("Connected to")
        with client(options, data, tmp_path / "b") as second:
            line = second.says("Waiting: .*")[0]
            assert "another client" in line
            assert "65 s" in line
        nodes = json.loads((tmp_path / "a" / "client.json").read_text())
        os.kill(nodes["supernode"], signal.SIGKILL)
        first.says("another client")


def _said(words: str, options: Sequence[str], data: Path, folder: Path, program: Sequence[str] = PROGRAM) -> str:
    """What a client with these options says, without its time."""
    with client(options, data, folder, program) as started:
        return started.says(f".*{re.escape(words)}.*", LIMIT)[0].partition(": ")[2]
