"""A deployment on the loopback interface, and the proof that the clients' updates travel over gRPC."""

import hashlib
import socket
import tomllib
from pathlib import Path

import numpy as np
import pytest
from flwr.app import ConfigRecord
from flwr.common.config import flatten_dict
from flwr.proto.message_pb2 import PushObjectRequest
from google.protobuf.message import DecodeError

from pfedgp.local.deployment import deploy_local
from pfedgp.local.processes import LocalFlower, write_app
from pfedgp.processes import flower as programs
from pfedgp.processes.flower import flower_program, free_ports
from pfedgp_core.config import Settings
from pfedgp_core.errors import RunFailedError
from pfedgp_core.learning.aggregation import average
from pfedgp_core.wire.names import SHARED
from tests.deploy.http2 import PREFACE, SETTINGS, RecordingProxy, frames, grpc_messages
from tests.deploy.program import wait_for
from tests.federation_run import QUICK, Run

TWO_SITES = Settings(clients=2, clients_per_round=2, classes_per_client=5, rounds=2, evaluate_every=2, gp=QUICK)


def pushed_vectors(connection: bytes, size: int) -> list[np.ndarray]:
    """Shared vectors in the objects that a client pushed on one connection, in order."""
    vectors = []
    for message in grpc_messages(connection):
        if b"ConfigRecord" not in message[:200]:
            continue
        try:
            request = PushObjectRequest.FromString(message)
        except DecodeError:
            continue
        # Flower names an object by the hash of its content: this is the whole of one, unchanged.
        assert request.object_id == hashlib.sha256(request.object_content).hexdigest()
        fields = ConfigRecord.inflate(request.object_content)
        if SHARED in fields:
            data = fields[SHARED]
            assert isinstance(data, bytes)
            assert data in message
            assert len(data) == 4 * size
            vectors.append(np.frombuffer(data, dtype="<f4"))
    return vectors


@pytest.mark.slow
def test_updates_travel_over_grpc_and_their_average_is_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    proxies: list[RecordingProxy] = []
    lines: list[str] = []

    def through_proxy(port: int) -> int:
        proxies.append(RecordingProxy(port))
        return proxies[0].port

    summary = deploy_local(TWO_SITES, tmp_path / "run", lines.append, through_proxy)

    run = Run(tmp_path / "run")
    assert summary["status"] == "completed"
    assert summary["clients"] == 2
    assert summary["missing_clients"] == {}
    assert [r["ok"] for r in run.records] == [2, 2]
    assert [line for line in lines if line.startswith("round 2/2")]

    (proxy,) = proxies
    proxy.close()
    final = run.model("final")
    by_site = []
    for sent, received in zip(proxy.sent, proxy.received, strict=True):
        if not sent.startswith(PREFACE):
            assert len(sent) < 2000  # a site that looks whether the port is open, and speaks TLS
            continue
        assert next(frames(bytes(received)))[0] == SETTINGS
        if vectors := pushed_vectors(bytes(sent), final.size):
            by_site.append(vectors)
    assert [len(vectors) for vectors in by_site] == [2, 2]  # two sites, one update a round
    last = [vectors[-1] for vectors in by_site]
    assert average(last).tobytes() == final.tobytes()
    assert last[0].tobytes() != last[1].tobytes() != final.tobytes()

    # The SuperLink's own child notices within seconds that its parent is gone.
    wait_for(lambda: not processes_with(f"FLWR_HOME={tmp_path}"), 20.0, "the end of all processes")


def processes_with(text: str) -> list[str]:
    """Living processes that have `text` in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if text.encode() in path.read_bytes():
                found.append(path.parent.name)
        except OSError:
            continue
    return found


def test_the_app_directory_holds_the_settings_of_the_run(tmp_path: Path) -> None:
    settings = TWO_SITES.replace(data_root='a "quoted" folder')
    write_app(tmp_path / "pfedgp", settings, Path("/some where/out"))
    flower = tomllib.loads((tmp_path / "pfedgp" / "pyproject.toml").read_text())["tool"]["flwr"]["app"]
    config = flatten_dict(flower["config"])
    assert config.pop("out") == "/some where/out"
    assert Settings.from_run_config(config) == settings
    for reference in flower["components"].values():
        assert (tmp_path / "pfedgp" / (reference.split(":")[0].replace(".", "/") + ".py")).is_file()


@pytest.mark.slow
def test_a_process_that_ends_early_is_reported_with_its_last_words(tmp_path: Path) -> None:
    with LocalFlower(tmp_path) as flower:
        flower._start("superlink", flower_program("flower-superlink"), "--no-such-option")
        flower.processes["superlink"].wait(60)
        with pytest.raises(RunFailedError, match=r"superlink ended with exit code 2: .*--no-such-option"):
            flower.check("superlink")


def test_free_ports_are_distinct() -> None:
    assert len(set(free_ports(20))) == 20


def test_no_outgoing_connection_takes_a_free_port() -> None:
    lowest = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    assert max(free_ports(50)) < max(lowest, 32768)


def test_ports_where_all_tried_ones_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        monkeypatch.setattr(programs, "LOWEST_PORT", taken.getsockname()[1])
        monkeypatch.setattr(programs.secrets, "randbelow", lambda _: 0)
        assert free_ports(1) != [taken.getsockname()[1]]
