"""A deployment over three machines that share nothing but a network: what works, and what a site can reach."""

import csv
import re
import sys
from collections.abc import Iterator

import pytest

from tests.deploy.deployment import Deployment, deployed
from tests.deploy.digit_images import write_digits
from tests.deploy.namespaces import Host, Lab, lab
from tests.deploy.program import Program

pytestmark = [pytest.mark.slow, pytest.mark.netns, pytest.mark.root]

ROUNDS = 5
CLASSES = {"ward-a": (0, 1, 2, 3), "ward-b": (3, 4, 5)}

# Runs on another machine: which of its ports accept connections, and what the fleet port says to whom.
SCAN = """
import errno, selectors, socket, sys
host, ports = sys.argv[1], list(range(1, 65536))
opened, watch = [], selectors.DefaultSelector()
while ports or watch.get_map():
    while ports and len(watch.get_map()) < 500:
        probe = socket.socket(); probe.setblocking(False)
        port = ports.pop()
        code = probe.connect_ex((host, port))
        if code == errno.EINPROGRESS:
            watch.register(probe, selectors.EVENT_WRITE, port)
        else:
            opened += [port] if code == 0 else []
            probe.close()
    for key, _ in watch.select(1.0):
        watch.unregister(key.fileobj)
        if key.fileobj.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
            opened.append(key.data)
        key.fileobj.close()
print(sorted(opened))
"""
TLS = """
import socket, ssl, sys
host, ca, low, high = sys.argv[1:]
context = ssl.create_default_context(cafile=ca)
context.set_alpn_protocols(["h2", "http/1.1"])
context.minimum_version, context.maximum_version = ssl.TLSVersion[low], ssl.TLSVersion[high]
with socket.create_connection((host, 9092), 10) as plain, context.wrap_socket(plain, server_hostname=host) as secured:
    print(secured.version(), secured.selected_alpn_protocol())
"""
PLAINTEXT = """
import socket, sys
with socket.create_connection((sys.argv[1], 9092), 10) as plain:
    plain.settimeout(10)
    plain.sendall(b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0]))
    try:
        answer = plain.recv(100)
    except ConnectionError:
        answer = b""
print(answer[:1].hex() or "closed")
"""


@pytest.fixture(scope="module")
def machines() -> Iterator[Lab]:
    """Server, two sites."""
    with lab(3) as made:
        yield made


@pytest.fixture(scope="module")
def trained(machines: Lab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A deployment that has done a run of five rounds, and still runs."""
    server, *hosts = machines.hosts
    with deployed(tmp_path_factory.mktemp("hosts"), CLASSES, 60, server, hosts) as deployment:
        run = deployment.start_run(
            "first", "--rounds", str(ROUNDS), "--set", "evaluate-every=1", "--set", "min-clients=2"
        )
        assert run.ends(300.0) == 0, run.text
        yield deployment


def test_the_run_learns_and_leaves_everything(trained: Deployment) -> None:
    run = trained.runs / "first"
    summary = trained.summary("first")
    assert summary["status"] == "completed"
    assert summary["accuracy"] > 0.8  # 1/4 and 1/3 by chance
    assert summary["dataset"] == "own data of 2 sites"
    rounds = trained.rounds("first")
    assert [record["round"] for record in rounds] == list(range(1, ROUNDS + 1))
    assert all(record["ok"] == 2 and not record["failed"] and not record["validation_failed"] for record in rounds)
    assert all(record["validation_accuracy"] is not None for record in rounds)
    for name in ("config.toml", "calibration.json", "report.html", "best/model.safetensors", "final/model.safetensors"):
        assert (run / name).stat().st_size > 0, name
    assert len(list((run / "checkpoints").iterdir())) == 3
    with (run / "clients.csv").open() as file:
        rows = {row["name"]: row for row in csv.DictReader(file)}
    assert {name: row["classes"].split(";") for name, row in rows.items()} == {
        name: [f"digit-{digit}" for digit in classes] for name, classes in CLASSES.items()
    }
    assert all(int(row["rounds_trained"]) == ROUNDS for row in rows.values())


def test_the_operator_sees_a_line_for_each_round(trained: Deployment) -> None:
    text = trained.others[0].text
    for number in range(1, ROUNDS + 1):
        assert re.search(rf"^round {number}/{ROUNDS}  2 ok  0 failed .* val acc .* ece .* s  out .* in ", text, re.M), (
            text
        )
    assert "Traceback" not in text


def test_each_site_has_its_own_classifier_and_split(trained: Deployment) -> None:
    for name, classes in CLASSES.items():
        state = trained.site_state(name)
        assert (state / "split.json").is_file()
        test = write_digits(trained.folder / "new" / name, classes, 20, first=100)
        out = trained.folder / f"{name}.csv"
        done = trained.call(
            *("predict", "--site", str(state / "site"), "--data", str(test), "--out", str(out)),
            host=trained.hosts[name],
        )
        assert done.returncode == 0, done.stdout + done.stderr
        with out.open() as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 20 * len(classes)
        right = [row["predicted"] in row["id"] for row in rows]
        assert sum(right) / len(right) > 0.8


def test_a_site_reaches_the_fleet_port_and_nothing_else(trained: Deployment) -> None:
    site, address = trained.hosts["ward-a"], trained.server_host.address
    assert _python(site, SCAN, address) == "[9092]"
    with pytest.raises(AssertionError, match="ConnectionRefused"):
        _python(site, "import socket, sys; socket.create_connection((sys.argv[1], 8000), 10)", address)
    done = trained.call(*("status", "--control", f"{address}:8000", "--ca", str(trained.ca)), host=site)
    assert done.returncode == 1
    assert "does not answer" in done.stderr


def test_sites_open_one_connection_and_listen_to_nobody(trained: Deployment) -> None:
    fleet = f"{trained.server_host.address}:9092"
    for name in CLASSES:
        host = trained.hosts[name]
        outside = [s for s in host.sockets() if not s["peer"].startswith(("127.0.0.1:", "[::1]:"))]
        assert outside
        assert {s["peer"] for s in outside} == {fleet}
        assert all(s["local"].startswith("127.0.0.1:") for s in host.sockets("-l"))
    listening = {s["local"] for s in trained.server_host.sockets("-l")}
    assert {local for local in listening if not local.startswith("127.0.0.1:")} == {fleet}
    assert "127.0.0.1:8000" in listening


def test_the_wire_is_http2_over_tls(trained: Deployment) -> None:
    site, address, ca = trained.hosts["ward-a"], trained.server_host.address, str(trained.ca)
    assert _python(site, TLS, address, ca, "TLSv1_2", "TLSv1_3") == "TLSv1.3 h2"
    assert _python(site, TLS, address, ca, "TLSv1_2", "TLSv1_2") == "TLSv1.2 h2"
    with pytest.raises(AssertionError, match=r"SSLError|ssl\."):
        _python(site, TLS, address, ca, "TLSv1", "TLSv1_1")
    # A TLS alert (0x15) or a closed connection; a server that speaks plaintext HTTP/2 answers with its settings (0x00).
    assert _python(site, PLAINTEXT, address) in ("15", "closed")


def test_plaintext_to_another_machine_is_refused_at_the_site(trained: Deployment) -> None:
    done = trained.call(
        *("client", "--name", "x", "--superlink", trained.superlink, "--insecure"),
        *("--data", str(trained.data("ward-a")), "--state", str(trained.folder / "insecure")),
        host=trained.hosts["ward-a"],
    )
    assert done.returncode == 2
    assert "--insecure" in done.stderr


def test_a_stranger_without_a_registered_key_is_told_so(trained: Deployment) -> None:
    strangers = trained.folder / "strangers"
    made = trained.call(
        "certs", "--san", trained.server_host.address, "--client-names", "x", "--make-keys", "--out", str(strangers)
    )
    assert made.returncode == 0
    site = Program(
        trained.folder / "stranger.log",
        trained.hosts["ward-b"],
        [
            *("client", "--name", "x", "--superlink", trained.superlink, "--state", str(trained.folder / "stranger")),
            *("--ca", str(trained.ca), "--key", str(strangers / "clients" / "x")),
            *("--data", str(trained.data("ward-b"))),
        ],
    )
    trained.others.append(site)
    assert "does not know the key" in site.says(r"Waiting: .*", 60.0)[0]
    assert site.stop() == 0
    assert "Connected" not in site.text


def test_the_namespaces_go_away() -> None:
    with pytest.raises(RuntimeError), lab(2) as made:
        assert not made.is_gone()
        here = Host().run("ip", "-brief", "address").stdout
        assert "127.0.0.1" in here
        assert made.hosts[0].address not in here
        raise RuntimeError
    assert made.is_gone()


def _python(host: Host, code: str, *arguments: str) -> str:
    done = host.run(sys.executable, "-c", code, *arguments, timeout=120.0)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()
