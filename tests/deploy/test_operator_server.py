"""The operator's commands on a real server with two sites: runs, and what is left of them when processes die."""

import json
import os
import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pfedgp.operator.control import Control, UnreachableError
from tests.deploy.deployment import Deployment, deployed
from tests.deploy.program import Program, children, is_alive, wait_for

pytestmark = pytest.mark.slow

SITES = {"ward-a": (0, 2, 3), "ward-b": (1, 2, 3)}
QUICK = (
    *("--set", "gp.sweeps=1", "--set", "gp.train-chains=2", "--set", "gp.predict-chains=2"),
    *("--set", "evaluate-every=1000", "--set", "round-timeout=60", "--set", "personalise=false"),
)
BOTH = ("--clients-per-round", "2", *QUICK)
LONG = ("--rounds", "100", *BOTH)
ROOT = Path(__file__).resolve().parent.parent.parent


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    with deployed(tmp_path_factory.mktemp("op"), SITES, 20) as made:
        yield made


@pytest.fixture(autouse=True)
def nothing_left_running(deployment: Deployment) -> Iterator[None]:
    """A failed test leaves no run that would slow the next one's."""
    yield
    with suppress(UnreachableError), Control(deployment.control, deployment.ca) as server:
        for run in server.runs():
            if not run.finished:
                server.stop(run.run_id)


def rounds_shown(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"^round +(\d+)/", text, re.M)]


def listening(pids: set[int]) -> set[str]:
    """Addresses on which processes listen, as the kernel tells them."""
    sockets = set()
    for pid in pids:
        for handle in Path(f"/proc/{pid}/fd").iterdir():
            try:
                sockets |= set(re.findall(r"socket:\[(\d+)\]", str(handle.readlink())))
            except OSError:
                continue
    found = set()
    for line in (
        Path("/proc/net/tcp").read_text().splitlines()[1:] + Path("/proc/net/tcp6").read_text().splitlines()[1:]
    ):
        local, state, inode = (line.split()[i] for i in (1, 3, 9))
        if state == "0A" and inode in sockets:
            host, port = local.split(":")
            host = host.removeprefix("0000000000000000FFFF0000")  # an IPv4 address on an IPv6 socket
            quad = ".".join(str(int(host[i : i + 2], 16)) for i in (6, 4, 2, 0)) if len(host) == 8 else host
            found.add(f"{quad}:{int(port, 16)}")
    return found


def test_a_run_trains_on_the_registered_sites_and_ends_with_zero(deployment: Deployment) -> None:
    run = deployment.start_run("first", "--rounds", "2", *QUICK)

    assert run.ends(120) == 0
    assert rounds_shown(run.text) == [1, 2]
    assert run.text.rstrip().splitlines()[-1] == str(deployment.runs / "first")
    assert "Traceback" not in run.text
    assert "\x1b" not in run.text
    summary = deployment.summary("first")
    assert summary["status"] == "completed"
    assert summary["clients"] == 2
    config = (deployment.runs / "first/config.toml").read_text()
    assert re.search(r"^clients-per-round = 2 ", config, re.M)


def test_only_the_two_addresses_are_listened_on(deployment: Deployment) -> None:
    assert deployment.server is not None
    pids = {deployment.server.pid, *children(deployment.server.pid)}

    assert listening(pids) == {f"127.0.0.1:{deployment.fleet_port}", f"127.0.0.1:{deployment.control_port}"}


def test_a_second_server_on_the_state_folder_is_refused(deployment: Deployment) -> None:
    assert deployment.server is not None
    done = deployment.call("server", "--certs", str(deployment.certs), "--state", str(deployment.state))

    assert done.returncode == 1
    assert f"(process {deployment.server.pid})" in done.stderr


def test_a_port_in_use_is_named(deployment: Deployment, tmp_path: Path) -> None:
    taken = f"127.0.0.1:{deployment.fleet_port}"
    done = deployment.call(
        *("server", "--certs", str(deployment.certs), "--state", str(tmp_path / "other"), "--fleet-address", taken)
    )

    assert done.returncode == 1
    assert f"Cannot listen on {taken}: another program listens there" in done.stderr


def test_status_shows_server_sites_and_runs(deployment: Deployment) -> None:
    state = deployment.status()

    assert state["server"]["processes"] == {"superlink": True, "superexec": True}
    assert state["server"]["fleet_address"] == deployment.superlink
    assert [(site["name"], site["online"]) for site in state["sites"]] == [(name, True) for name in SITES]
    first = next(run for run in state["runs"] if run["name"] == "first")
    assert (first["status"], first["round"], first["rounds"]) == ("finished:completed", 2, 2)
    assert first["accuracy"] == deployment.summary("first")["accuracy"]
    text = deployment.call("status", "first", "--state", str(deployment.state)).stdout
    assert "ward-a: connected" in text
    assert "finished:completed, round 2 of 2, test accuracy" in text


def test_a_mistake_in_a_setting_costs_no_run(deployment: Deployment) -> None:
    done = deployment.call("run", "--state", str(deployment.state), "--set", "variant=ful")

    assert done.returncode == 2
    assert "variant = 'ful' is not known" in done.stderr
    assert [run["name"] for run in deployment.status()["runs"]] == ["first"]


def test_a_run_without_enough_sites_ends_with_its_reason(deployment: Deployment) -> None:
    run = deployment.start_run(
        "lonely", *QUICK, "--clients", "3", "--clients-per-round", "3", "--set", "wait-timeout=5"
    )

    assert run.ends(90) == 1
    reason = run.text.rstrip().splitlines()[-1]
    assert reason.startswith("pfedgp: ")
    assert deployment.summary("lonely")["reason"] in reason
    assert "2 of 3" in reason


def test_an_app_that_cannot_be_imported_shows_the_cause(deployment: Deployment, tmp_path: Path) -> None:
    for package in ("client", "pfedgp", "pfedgp_core", "server"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    app = tmp_path / "server/server_app.py"
    app.write_text("import a_module_that_is_missing\n" + app.read_text())
    run = Program(
        tmp_path / "run.log",
        deployment.server_host,
        ["run", "--state", str(deployment.state), *QUICK],
        {"PYTHONPATH": str(tmp_path)},
    )

    assert run.ends(60) == 1
    assert "No module named 'a_module_that_is_missing'" in run.text
    assert "Traceback" not in run.text


def test_a_new_key_in_the_folder_is_registered(deployment: Deployment) -> None:
    assert deployment.server is not None
    deployment.call("certs", "--client-names", "ward-z", "--make-keys", "--out", str(deployment.certs))

    deployment.server.says(r"registered ward-z", 30)


def test_ctrl_c_leaves_the_run_which_can_be_stopped(deployment: Deployment) -> None:
    run = deployment.start_run("left", *LONG)
    run.says(r"^round +1/", 150)

    os.kill(run.pid, signal.SIGINT)
    assert run.ends(30) == 130
    assert "The run goes on. Follow it with: pfedgp run --attach left" in run.text
    follower = Program(
        deployment.folder / "follow-left.log",
        deployment.server_host,
        ["run", "--state", str(deployment.state), "--attach", "left"],
    )
    last = max(rounds_shown(run.text))
    follower.says(rf"^round +{last + 2}/", 60)
    done = deployment.stop_run("left")

    assert done.returncode == 0
    assert "pfedgp resume" in done.stdout
    assert follower.ends(60) == 1
    assert "The run was stopped." in follower.text
    assert deployment.status("left")["runs"][0]["status"] == "finished:stopped"


def test_a_run_outlives_its_killed_command_and_can_be_followed_to_the_end(deployment: Deployment) -> None:
    run = deployment.start_run("orphan", "--rounds", "12", *BOTH)
    run.says(r"^round +1/", 150)
    run.process.kill()
    run.process.wait()

    done = deployment.call("run", "--state", str(deployment.state), "--attach", "orphan", timeout=300)

    assert done.returncode == 0, done.stderr
    assert rounds_shown(done.stdout) == list(range(1, 13))
    assert deployment.summary("orphan")["status"] == "completed"


def test_a_killed_superlink_is_started_again_and_the_run_completes(deployment: Deployment) -> None:
    assert deployment.server is not None
    run = deployment.start_run("superlink", "--rounds", "12", *BOTH)
    run.says(r"^round +2/", 150)
    before = deployment.processes()["superlink"]

    os.kill(before, signal.SIGKILL)

    assert run.ends(240) == 0, run.text
    deployment.server.says("the superlink ended by signal 9; it starts again")
    assert deployment.processes()["superlink"] != before
    assert rounds_shown(run.text) == list(range(1, 13))
    assert "does not answer" in run.text
    assert "The server answers again." in run.text
    assert [record["round"] for record in deployment.rounds("superlink")] == list(range(1, 13))


def test_a_run_whose_superexec_was_killed_fails_and_is_resumed(deployment: Deployment) -> None:
    assert deployment.server is not None
    run = deployment.start_run("superexec", "--rounds", "12", *BOTH)
    run.says(r"^round +2/", 150)
    before = deployment.processes()["superexec"]

    os.kill(before, signal.SIGKILL)

    assert run.ends(180) == 1
    folder = deployment.runs / "superexec"
    assert "The server app died during the run" in run.text
    assert f"Go on from its last checkpoint: pfedgp resume {folder}" in run.text
    reached = len(deployment.rounds("superexec"))
    assert 2 <= reached < 12
    assert wait_for(lambda: deployment.processes().get("superexec", before) != before, 30, "a new SuperExec")

    resumed = deployment.start_run("superexec", verb="resume")

    assert resumed.ends(180) == 0, resumed.text
    shown = rounds_shown(resumed.text)
    assert shown[0] in (reached, reached + 1)  # the checkpoint of a round is written once the next requests are sent
    assert shown == list(range(shown[0], 13))
    assert [record["round"] for record in deployment.rounds("superexec")] == list(range(1, 13))


def test_a_model_is_published_to_the_sites(deployment: Deployment) -> None:
    run = deployment.start_run("published", "--publish", str(deployment.runs / "first/best"))

    assert run.ends(180) == 0, run.text
    told = json.loads((deployment.runs / "published/onboarded.json").read_text())
    assert {name for name in SITES if name in json.dumps(told)} == set(SITES)


def test_the_server_stops_in_order_and_leaves_no_process(deployment: Deployment) -> None:
    assert deployment.server is not None
    below = children(deployment.server.pid)
    assert len(below) >= 2

    done = deployment.call("stop", "--server", "--state", str(deployment.state))

    assert done.returncode == 0
    assert "The server is stopped." in done.stdout
    assert deployment.server.ends(10) == 0
    assert not any(map(is_alive, below))
    again = deployment.call("status", "--state", str(deployment.state))
    assert again.returncode == 1
    assert "does not run: start it with pfedgp server" in again.stderr
