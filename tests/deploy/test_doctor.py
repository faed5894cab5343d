"""A site's diagnosis against a real SuperLink."""

import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from pfedgp.doctor import fleet_call
from pfedgp.doctor.site import check_connection, diagnose
from pfedgp.operator.control import Control
from pfedgp.processes.flower import free_ports
from tests.deploy.deployment import Deployment
from tests.deploy.mis_setups import Authority, listening, only, over_tls, says, strangers_key

pytestmark = pytest.mark.slow


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A server that knows the key of ward-1."""
    with Deployment(tmp_path_factory.mktemp("server"), ["ward-1"]) as made:
        made.start_server()
        yield made


def node_is_online(server: Deployment) -> bool:
    with Control(server.control, server.ca) as api:
        return any(node.online for node in api.nodes())


def test_a_sound_set_up_has_no_problem_and_the_diagnosis_leaves_no_trace(server: Deployment) -> None:
    assert diagnose(server.superlink, server.ca, server.key("ward-1")) == []

    checks = list(check_connection(server.superlink, server.ca, server.key("ward-1"), measure=True))

    assert [check.topic for check in checks] == ["key", "CA", "port", "TLS", "clock", "registration"]
    assert {check.status for check in checks} == {"ok"}
    assert "agrees" in checks[4].fact
    assert not node_is_online(server)


def test_seven_mis_set_ups_have_seven_sentences_and_remedies(
    server: Deployment, authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"wrong-ca": only(server.superlink, authority.path, server.key("ward-1"))}
    with listening(over_tls(authority.server("127.0.0.1", begin=-30, end=-2))) as address:
        found["expired"] = only(address, authority.path, server.key("ward-1"))
    with listening(over_tls(authority.server("fl.example.org", "10.9.8.7"))) as address:
        found["wrong-name"] = only(address, authority.path, server.key("ward-1"))
    found["tls-wanted"] = only(server.superlink, None, server.key("ward-1"))
    found["unregistered"] = only(server.superlink, server.ca, strangers_key(tmp_path))
    with monkeypatch.context() as patch:
        patch.setattr(fleet_call, "local_time", lambda: time.time() + 600)
        found["clock"] = only(server.superlink, server.ca, server.key("ward-1"))
    found["refused"] = only(f"127.0.0.1:{free_ports(1)[0]}", server.ca, server.key("ward-1"))

    assert [problem.code for problem in found.values()] == list(found)
    assert len({problem.sentence for problem in found.values()}) == 7
    remedies = {
        "wrong-ca": "--ca",
        "expired": "--renew-server",
        "wrong-name": "--san fl.example.org 10.9.8.7",
        "tls-wanted": "--insecure",
        "unregistered": "stranger.pub",
        "clock": "NTP",
        "refused": "9092",
    }
    for code, word in remedies.items():
        assert word in found[code].remedy
    assert "fl.example.org, 10.9.8.7" in found["wrong-name"].sentence
    assert not node_is_online(server)


@pytest.mark.parametrize(
    ("shift", "said"),
    [
        (600.0, "10 minutes ahead of"),
        (-600.0, "10 minutes behind"),
        (7200.0, "2.0 hours ahead of"),
        (30.0, " s ahead of"),
    ],
)
def test_the_clock_problem_says_how_much_and_in_which_direction(
    server: Deployment, monkeypatch: pytest.MonkeyPatch, shift: float, said: str
) -> None:
    monkeypatch.setattr(fleet_call, "local_time", lambda: time.time() + shift)

    problem = only(server.superlink, server.ca, server.key("ward-1"))

    assert problem.code == "clock"
    assert said in problem.sentence
    assert not problem.lasting


@pytest.mark.parametrize(("shift", "said"), [(3.5, "s ahead of"), (-200.0, "3 minutes behind")])
def test_an_accepted_clock_that_drifts_is_a_warning(
    server: Deployment, monkeypatch: pytest.MonkeyPatch, shift: float, said: str
) -> None:
    monkeypatch.setattr(fleet_call, "local_time", lambda: time.time() + shift)

    assert diagnose(server.superlink, server.ca, server.key("ward-1")) == []
    problems = [
        c.problem
        for c in check_connection(server.superlink, server.ca, server.key("ward-1"), measure=True)
        if c.problem
    ]

    assert [(p.code, p.warning) for p in problems] == [("clock-close", True)]
    assert said in problems[0].sentence


def test_a_key_in_use_differs_from_one_that_is_unknown(server: Deployment, tmp_path: Path) -> None:
    stranger = strangers_key(tmp_path)

    assert only(server.superlink, server.ca, server.key("ward-1"), refused=True).code == "key-in-use"
    assert only(server.superlink, server.ca, stranger, refused=True).code == "unregistered"


def test_a_clock_is_tested_without_a_usable_key(
    server: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert diagnose(server.superlink, server.ca, None) == []
    monkeypatch.setattr(fleet_call, "local_time", lambda: time.time() + 600)

    found = diagnose(server.superlink, server.ca, tmp_path / "nothing")

    assert [problem.code for problem in found] == ["key-missing", "clock"]


def test_the_control_port_is_recognised(server: Deployment) -> None:
    problem = only(server.control, server.ca, server.key("ward-1"))

    assert problem.code == "not-fleet"
    assert "Fleet port" in problem.remedy
    assert "9092" in problem.remedy


def test_key_files(server: Deployment, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = ed25519.Ed25519PrivateKey.generate().private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    (tmp_path / "other").write_bytes(other)
    (tmp_path / "other").chmod(0o600)
    # The package bcrypt, which derives the key from the passphrase, need not be there to refuse one.
    ssh = "cryptography.hazmat.primitives.serialization.ssh"
    monkeypatch.setattr(f"{ssh}._bcrypt_kdf", lambda password, salt, size, *_: bytes(size))
    locked = ec.generate_private_key(ec.SECP384R1()).private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.OpenSSH,
        serialization.BestAvailableEncryption(b"secret"),
    )
    (tmp_path / "locked").write_bytes(locked)

    ed = only(server.superlink, server.ca, tmp_path / "other")
    assert ed.code == "key-type"
    assert "Ed25519" in ed.sentence
    assert "passphrase" in only(server.superlink, server.ca, tmp_path / "locked").sentence
    public = only(server.superlink, server.ca, server.key("ward-1.pub"))
    assert public.code == "key-type"
    assert "public key" in public.sentence
    assert only(server.superlink, server.ca, tmp_path).code == "key-unreadable"

    known = tmp_path / "open"
    known.write_bytes(server.key("ward-1").read_bytes())
    known.chmod(0o644)
    readable = only(server.superlink, server.ca, known)
    assert readable.code == "key-mode"
    assert readable.warning
    assert "chmod 600" in readable.remedy


def test_ca_files(server: Deployment, tmp_path: Path) -> None:
    (tmp_path / "ca.crt").write_text("-----BEGIN NOTHING-----\n")

    assert "cannot be read" in only(server.superlink, tmp_path / "none.crt", server.key("ward-1")).sentence
    assert "holds no certificate" in only(server.superlink, tmp_path / "ca.crt", server.key("ward-1")).sentence


def test_another_version_of_flower_is_not_asked(server: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flwr.__version__", "1.42.0")

    assert only(server.superlink, server.ca, server.key("ward-1")).code == "flower-version"


def test_a_proxy_of_the_environment(server: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    with listening(says(b"HTTP/1.1 403 Forbidden\r\n\r\n")) as proxy:
        monkeypatch.setenv("https_proxy", f"http://{proxy}")
        refused = only(server.superlink, server.ca, server.key("ward-1"))
        assert refused.code == "proxy"
        assert "403" in refused.sentence
        assert "no_grpc_proxy=127.0.0.1" in refused.remedy

        monkeypatch.setenv("no_proxy", "example.org,127.0.0.1")
        assert diagnose(server.superlink, server.ca, server.key("ward-1")) == []

    monkeypatch.delenv("no_proxy")
    away = only(server.superlink, server.ca, server.key("ward-1"))
    assert away.code == "proxy"
    assert "cannot be reached" in away.sentence


def test_through_a_proxy_that_lets_pass(server: Deployment, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[bytes] = []

    def tunnel(connection: socket.socket) -> None:
        asked.append(connection.recv(4096))
        host, _, port = asked[-1].split()[1].decode().rpartition(":")
        with socket.create_connection((host, int(port))) as onward:
            connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            _pump(connection, onward)

    with listening(tunnel) as proxy:
        monkeypatch.setenv("https_proxy", f"http://someone:secret@{proxy}")
        assert diagnose(server.superlink, server.ca, server.key("ward-1")) == []
    assert all(b"CONNECT" in request and b"Proxy-Authorization: Basic" in request for request in asked)
    assert len(asked) >= 3  # the port, the handshake, and gRPC itself


def _pump(one: socket.socket, other: socket.socket) -> None:
    while True:
        for source in select.select([one, other], [], [])[0]:
            data = source.recv(65536)
            if not data:
                return
            (other if source is one else one).sendall(data)
