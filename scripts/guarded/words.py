"""Words that mislead: what a run is about, what is to be carried and restarted, and commands as they are printed."""

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from harness import REPOSITORY, case, main

from pfedgp.cli import main as pfedgp
from pfedgp.doctor.problem import Deadline
from pfedgp.doctor.reach import parse_address
from pfedgp.doctor.tls import served_certificate
from pfedgp.operator.authority import read_certificate
from tests.deploy.deployment import Deployment, deployed

WARDS = {"ward-1": (0, 1), "ward-2": (2, 3)}
DATA = "own data of 2 sites"


@contextmanager
def two_wards(folder: Path) -> Iterator[Deployment]:
    """A server and two sites with digits of their own."""
    with deployed(folder, WARDS, per_class=10) as deployment:
        yield deployment


def run(deployment: Deployment, name: str, *options: str) -> str:
    """A run to its end; what it printed."""
    program = deployment.start_run(name, *options)
    assert program.ends(120.0) == 0, program.text
    return program.text


@case("a run on own data says so in console, report, Prometheus, config.toml and summary, and repeats as told", 150)
def _origin(folder: Path) -> str:
    with two_wards(folder) as deployment:
        prom = folder / "run.prom"
        options = ("--rounds", "2", "--clients-per-round", "2", "--set", "min-clients=2")
        told = run(deployment, "first", *options, "--prometheus", str(prom))
        first = deployment.runs / "first"
        assert f"data     {DATA}" in told, told
        assert f'dataset="{DATA}"' in prom.read_text()
        assert f"{DATA}, 20" in (first / "report.html").read_text()  # and the date
        assert deployment.summary("first")["dataset"] == DATA
        head = (first / "config.toml").read_text().splitlines()[:2]
        assert DATA in head[0], head
        command = re.search(r"Repeat it with: pfedgp (run) --config THIS_FILE", head[1])
        assert command, head
        run(deployment, "again", "--config", str(first / "config.toml"))
        accuracies = [deployment.summary(name)["accuracy"] for name in ("first", "again")]
        assert accuracies[0] == accuracies[1], accuracies
        return f"accuracy {accuracies[0]:.3f} both times"


@case("a simulation names its data set, and the command in config.toml repeats it", 240)
def _simulated(folder: Path) -> None:
    small = ["--rounds", "1", "--clients", "5", "--clients-per-round", "2", "--set", "gp.sweeps=1", "--workers", "1"]
    assert pfedgp(["simulate", *small, "--out", str(folder / "a")]) == 0
    lines = (folder / "a/config.toml").read_text().splitlines()
    assert lines[:2] == [
        "# Settings of a pFedGP run on digits.",
        "# Repeat it with: pfedgp simulate --config THIS_FILE",
    ], lines[:2]
    again = ["simulate", "--config", str(folder / "a/config.toml"), "--workers", "1", "--out", str(folder / "b")]
    assert pfedgp(again) == 0
    same = [(folder / name / "final/model.safetensors").read_bytes() for name in "ab"]
    assert len(same[0]) == len(same[1])


@case(
    "after certs --renew-server the words say what to restart and to carry nothing, and following them is enough", 120
)
def _renewed(folder: Path) -> None:
    with two_wards(folder) as deployment:
        told = deployment.call("certs", "--renew-server", "--out", str(deployment.certs)).stdout
        assert "Restart the server" in told, told
        assert "Carry nothing to the sites" in told, told
        assert deployment.server is not None
        deployment.server.stop()
        deployment.start_server().says("registered", 90.0, times=2)
        deployment.connected(times=2)
        served = served_certificate(parse_address(deployment.superlink), Deadline(5.0))
        assert served == read_certificate(deployment.certs / "server.crt")


@case("certs --remove takes a site out of a server that runs, and the name comes back with a new key", 300)
def _removed(folder: Path) -> None:
    with two_wards(folder) as deployment:
        assert deployment.server is not None
        assert deployment.call("certs", "--remove", "ward-2", "--out", str(deployment.certs)).returncode == 0
        deployment.server.says("ward-2 is taken out", 30.0)
        assert [site["name"] for site in deployment.status()["sites"]] == ["ward-1"]
        deployment.sites["ward-2"].says(r"(Waiting|Problem): .*", 120.0)
        deployment.sites["ward-2"].stop()
        deployment.call("certs", "--client-names", "ward-2", "--make-keys", "--out", str(deployment.certs))
        deployment.server.says("registered ward-2", 30.0)
        deployment.start_site("ward-2", "--data", str(deployment.data("ward-2")))
        deployment.connected("ward-2", times=2)


@case(
    "docs/containers.md gives a site's work after `up` to containers of their own, and exec to the doctor alone",
    60,
    tests=["tests/deploy/test_containers_doc.py::test_after_up_has_stopped_everything_its_commands_still_work"],
)
def _compose(_: Path) -> None:
    from tests.deploy.test_containers_doc import exec_commands

    assert all("pfedgp doctor" in command for command in exec_commands()), exec_commands()


@case(
    "the command of Flower's own that docs/simulate.md shows installs nothing",
    240,
    tests=["tests/deploy/test_flwr_run.py::test_the_documented_command_installs_nothing"],
)
def _flwr_run(folder: Path) -> str:
    from tests.deploy.test_flwr_run import DOCUMENTED, installs

    assert "flwr run ." in (REPOSITORY / "docs/simulate.md").read_text()
    assert not installs(folder, DOCUMENTED)
    return DOCUMENTED


if __name__ == "__main__":
    sys.exit(main())
