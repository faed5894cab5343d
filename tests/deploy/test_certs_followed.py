"""A server's keys over its life, by the words that ``pfedgp certs`` prints: a new certificate, and a site taken out."""

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pfedgp.doctor.problem import Deadline
from pfedgp.doctor.reach import parse_address
from pfedgp.doctor.tls import served_certificate
from pfedgp.operator.authority import read_certificate
from tests.deploy.deployment import Deployment, deployed

pytestmark = pytest.mark.slow

WARDS = {"ward-1": (0, 1), "ward-2": (2, 3)}
RUN = ("--rounds", "2", "--set", "personalise=false")


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    state = tmp_path / "server"
    state.mkdir()
    state.chmod(0o755)  # as former versions, and mkdir, left it
    (state / "superlink.db").touch(mode=0o644)
    with deployed(tmp_path, WARDS, per_class=10) as made:
        yield made


def shown(deployment: Deployment) -> object:
    return served_certificate(parse_address(deployment.superlink), Deadline(5.0))


def open_to_others(folder: Path, *except_below: str) -> list[str]:
    """What others may read in a folder."""
    found = [folder, *folder.rglob("*")]
    names = {path: str(path.relative_to(folder)) for path in found if not path.is_symlink() and not path.is_socket()}
    return [
        name
        for path, name in names.items()
        if not name.startswith(except_below) and stat.S_IMODE(path.stat().st_mode) & 0o077
    ]


def test_a_deployment_by_its_words(deployment: Deployment, tmp_path: Path) -> None:
    # All that holds keys, tokens and data is its owner's alone.
    run = deployment.start_run("first", *RUN, "--clients-per-round", "2", "--set", "min-clients=2")
    assert run.ends(120.0) == 0, run.text
    assert "data     own data of 2 sites" in run.text
    assert open_to_others(deployment.state, "runs/", "flwr/apps/") == []  # apps are pFedGP's own code
    for name in WARDS:
        assert open_to_others(deployment.site_state(name)) == []
    (tmp_path / "mine").touch()
    assert (deployment.runs / "first/report.html").stat().st_mode == (tmp_path / "mine").stat().st_mode  # to be shared

    # One origin, told once.
    head = (deployment.runs / "first/config.toml").read_text().splitlines()[:2]
    assert head == [
        "# Settings of a pFedGP run on own data of 2 sites.",
        "# Repeat it with: pfedgp run --config THIS_FILE, at a server with the same sites",
    ]
    report = (deployment.runs / "first/report.html").read_text()
    assert "own data of 2 sites, 20" in report  # the date
    assert "digits," not in report
    assert deployment.summary("first")["dataset"] == "own data of 2 sites"
    config = str(deployment.runs / "first/config.toml")
    again = deployment.start_run("again", "--config", config, "--set", "min-clients=2")
    assert again.ends(120.0) == 0, again.text
    assert deployment.summary("again")["accuracy"] == deployment.summary("first")["accuracy"]

    # A new certificate: the words say to restart, and to carry nothing.
    done = deployment.call("certs", "--renew-server", "--out", str(deployment.certs))
    assert "Restart the server" in done.stdout
    assert "Carry nothing to the sites" in done.stdout
    new = read_certificate(deployment.certs / "server.crt")
    assert shown(deployment) != new
    assert deployment.server is not None
    assert deployment.server.stop() == 0
    deployment.start_server().says("registered", 90.0, times=2)
    assert shown(deployment) == new
    deployment.connected(times=2)

    # A site is taken out of the server that runs.
    done = deployment.call("certs", "--remove", "ward-2", "--out", str(deployment.certs))
    assert done.returncode == 0, done.stderr
    deployment.server.says("ward-2 is taken out", 30.0)
    assert [site["name"] for site in deployment.status()["sites"]] == ["ward-1"]
    deployment.sites["ward-2"].says(r"(Waiting|Problem): .*", 120.0)
    assert deployment.sites["ward-2"].stop() == 0
    run = deployment.start_run("second", *RUN, "--clients-per-round", "1")
    assert run.ends(120.0) == 0, run.text
    assert deployment.summary("second")["clients"] == 1

    # It stays out after a restart, and comes back with a new key of the same name.
    assert deployment.server.stop() == 0
    deployment.start_server().says("registered", 90.0, times=3)
    assert not deployment.key("ward-2").exists()
    assert [site["name"] for site in deployment.status()["sites"]] == ["ward-1"]
    deployment.call("certs", "--client-names", "ward-2", "--make-keys", "--out", str(deployment.certs))
    deployment.server.says("registered ward-2", 30.0)
    deployment.start_site("ward-2", "--data", str(deployment.data("ward-2")))
    deployment.connected("ward-2", times=3)
