"""Bad days of a machine, each tried by the product's own commands: what tests and ``scripts/guarded`` share."""

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding

from tests.deploy.deployment import Deployment, deployed
from tests.deploy.digit_images import write_digits
from tests.deploy.namespaces import Host
from tests.deploy.program import PROGRAM

__all__ = [
    "address_of_ipv6",
    "app_that_never_starts",
    "app_that_starts_slowly",
    "certificates_in_other_forms",
    "dead_proxies",
    "emoji_on_a_small_terminal",
    "folder_of_another_app",
    "late_node",
    "long_tmpdir",
    "proxy_of_a_remote_server",
]

SMALL = (
    *("--method", "fedavg", "--clients", "5", "--clients-per-round", "2", "--rounds", "1"),
    *("--workers", "1", "--set", "wait-timeout=120"),
)
DEAD = "http://127.0.0.1:9"
PROXIES = dict.fromkeys(
    ("https_proxy", "http_proxy", "grpc_proxy", "all_proxy", "HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"), DEAD
)
EXCEPTIONS = ("no_proxy", "NO_PROXY", "no_grpc_proxy")
SITE = {"ward-a": (0, 1)}
RUN = ("--rounds", "1", "--clients-per-round", "1", "--method", "fedavg", "--set", "min-clients=1")
# Read by each Python that starts; only the server app's process heeds it.
DELAY = """
import os, sys, time
if any(word.endswith("flwr-serverapp") for word in sys.orig_argv):
    {act}
"""
LATE_NODE = """
import sys, time
from ray._private import services

real, began = services.get_node, []

def late(gcs_address, node_id):
    began.append(time.monotonic())
    if began[-1] - began[0] < {seconds}:
        raise RuntimeError("no node info yet")
    return real(gcs_address, node_id)

services.get_node = late
from pfedgp.cli import main
sys.exit(main())
"""


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Variables of this process and all that it starts, with no exceptions from proxies."""
    with mock.patch.dict(os.environ, values):
        for name in EXCEPTIONS:
            os.environ.pop(name, None)
        yield


def succeeds(command: Sequence[str], folder: Path) -> str:
    """Run a command that must succeed, in a folder, and return what it prints."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def dead_proxies(folder: Path) -> None:
    """Server, site, status, a local deployment and a simulation work on a machine whose proxy is dead."""
    with environment(**PROXIES):
        with deployed(folder / "d", SITE) as deployment:
            assert [site["online"] for site in deployment.status()["sites"]] == [True]
            run = deployment.start_run("run", *RUN)
            assert run.ends(240.0) == 0, run.text
        succeeds([*PROGRAM, "deploy-local", "--sites", "1", "--rounds", "1", "--out", str(folder / "local")], folder)
        succeeds([*PROGRAM, "simulate", *SMALL, "--out", str(folder / "simulated")], folder)


def proxy_of_a_remote_server(folder: Path) -> None:
    """A site whose server is elsewhere goes through the proxy, and says so."""
    with environment(**PROXIES), Deployment(folder, ["ward-a"]) as deployment:
        data = write_digits(folder / "data", (0, 1), 10)
        deployment.superlink = "192.0.2.1:9092"
        site = deployment.start_site("ward-a", "--data", str(data))
        site.says("The way to 192.0.2.1:9092 leads through the proxy 127.0.0.1:9 ", 90.0)
        site.says("gRPC goes through the proxy 127.0.0.1:9 .*cannot be reached", 90.0)


def folder_of_another_app(folder: Path, *, packages: bool, program: Sequence[str] = PROGRAM) -> None:
    """A simulation in a folder that holds files or packages of the names of ours works, and runs none of them."""
    for name in ("client", "server", "pfedgp_core"):
        path = folder / name / "__init__.py" if packages else folder / f"{name}.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"from pathlib import Path\nPath({str(folder / 'ran')!r}).touch()\n")
    succeeds([*program, "simulate", *SMALL, "--out", str(folder / "out")], folder)
    assert not (folder / "ran").exists()


def app_that_starts_slowly(folder: Path, seconds: float = 40.0) -> None:
    """A server app that needs longer than Flower's 30 s is started once, and its run completes."""
    with _acting(folder, f"time.sleep({seconds})"), deployed(folder / "d", SITE) as deployment:
        run = deployment.start_run("slow", *RUN)
        run.says("The server app starts", 60.0)
        assert run.ends(300.0) == 0, run.text
        log = (deployment.state / "logs" / "superexec.log").read_text(encoding="utf-8")
    assert log.count("of the server app of run") == 1, log


def app_that_never_starts(folder: Path) -> None:
    """One that ends before its first call is started three times, and then its run ends with the reason."""
    with _acting(folder, "print('no room', flush=True); os._exit(3)"):
        command = [*PROGRAM, "deploy-local", "--sites", "1", "--rounds", "1", "--out", str(folder / "out")]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    last = done.stderr.splitlines()[-1]
    assert "The server app was started 3 times and never came to its first call: it ended with exit code 3" in last
    assert "no room" in last


@contextmanager
def _acting(folder: Path, act: str) -> Iterator[None]:
    """Let the server app's process do something before anything else."""
    (folder / "first").mkdir()
    (folder / "first" / "sitecustomize.py").write_text(DELAY.format(act=act))
    with mock.patch.dict(os.environ, {"PYTHONPATH": str(folder / "first")}):
        yield


def long_tmpdir(folder: Path) -> None:
    """A simulation and a local deployment work where the name of TMPDIR has a hundred characters."""
    long = folder / ("x" * max(1, 100 - len(str(folder)) - 1))
    long.mkdir()
    assert len(str(long)) >= 100
    with environment(TMPDIR=str(long)):
        succeeds([*PROGRAM, "simulate", *SMALL, "--out", str(folder / "pool")], folder)
        told = succeeds([*PROGRAM, "simulate", "--engine", "ray", *SMALL, "--out", str(folder / "out")], folder)
        assert "as the name of TMPDIR is too long" in told
        succeeds([*PROGRAM, "deploy-local", "--sites", "1", "--rounds", "1", "--out", str(folder / "local")], folder)


def late_node(folder: Path, seconds: float = 40.0) -> None:
    """A simulation whose engine registers later than Ray waits for it goes on."""
    code = LATE_NODE.format(seconds=seconds)
    succeeds(
        [sys.executable, "-P", "-c", code, "simulate", "--engine", "ray", *SMALL, "--out", str(folder / "out")], folder
    )


def emoji_on_a_small_terminal(folder: Path) -> None:
    """The name of a class that a terminal cannot show is printed all the same."""
    rows = "".join(f"{i},{i % 7},{'ward 😀' if i % 2 else 'café'}\n" for i in range(60))
    (folder / "data.csv").write_text("a,b,label\n" + rows, encoding="utf-8")
    for encoding, shown in (("cp1252", "caf"), ("ascii", "caf\\xe9")):
        with environment(PYTHONIOENCODING=encoding):
            told = succeeds([*PROGRAM, "check-data", str(folder / "data.csv")], folder)
        assert "ward \\U0001f600" in told
        assert shown in told


def address_of_ipv6(folder: Path) -> None:
    """Server, site, doctor and a run work where every address is of IPv6."""
    with Deployment(folder, list(SITE), Host(address="[::1]")) as deployment:
        deployment.start_server("--control-address", f"[::1]:{deployment.control_port}")
        data = write_digits(folder / "data", (0, 1), 30)
        deployment.start_site("ward-a", "--data", str(data))
        deployment.connected()
        doctor = deployment.call(
            "doctor",
            "--superlink",
            deployment.superlink,
            "--ca",
            str(deployment.ca),
            "--key",
            str(deployment.key("ward-a")),
        )
        assert doctor.returncode == 0, doctor.stdout + doctor.stderr
        run = deployment.start_run("run", *RUN)
        assert run.ends(240.0) == 0, run.text


def certificates_in_other_forms(folder: Path) -> None:
    """Server and site take certificates and keys with a byte order mark, with CRLF, or as DER."""
    with Deployment(folder, list(SITE)) as deployment:
        certificate = x509.load_pem_x509_certificate(deployment.ca.read_bytes())
        files = (
            *(deployment.certs / name for name in ("ca.crt", "server.crt", "server.key")),
            deployment.key("ward-a"),
        )
        for path in files:
            path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes().replace(b"\n", b"\r\n"))
        deployment.start_server()
        data = write_digits(folder / "data", (0, 1), 30)
        deployment.ca = folder / "ca.der"
        deployment.ca.write_bytes(certificate.public_bytes(Encoding.DER))
        deployment.start_site("ward-a", "--data", str(data))
        deployment.connected()
        for ca in (deployment.ca, deployment.certs / "ca.crt"):
            doctor = deployment.call(
                *("doctor", "--superlink", deployment.superlink, "--ca", str(ca)),
                *("--key", str(deployment.key("ward-a"))),
            )
            assert doctor.returncode == 0, doctor.stdout + doctor.stderr
        assert [site["online"] for site in deployment.status()["sites"]] == [True]
