"""FedPer over gRPC: server, worker and site are killed in turn, and the end has the bits of a run without faults."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from client.state import SEAL
from server.run.model_file import load_model
from tests.deploy.deployment import WARDS, Deployment, deployed
from tests.deploy.program import Program
from tests.waiting import wait_for

pytestmark = pytest.mark.slow

ROUNDS, VICTIM = 8, next(iter(WARDS))
OPTIONS = [
    *("--method", "fedper", "--rounds", str(ROUNDS), "--clients-per-round", "3", "--seed", "8"),
    *("--set", "min-clients=3", "--set", "evaluate-every=2", "--set", "local-steps=2"),
    *("--set", "on-failure=stop", "--set", "round-timeout=60"),
]


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """A server with three sites that wait."""
    with deployed(tmp_path_factory.mktemp("fedper"), WARDS) as made:
        yield made


def newest(run: Path) -> int:
    """Round of the newest checkpoint, -1 before there is one."""
    rounds = [int(file.stem.removeprefix("round-")) for file in (run / "checkpoints").glob("round-*.safetensors")]
    return max(rounds, default=-1)


def caught_in_a_round(deployment: Deployment, after: int) -> dict[str, int]:
    """The victim's processes; its worker is stopped, and the others have trained in a later round than `after`."""
    wait_for(lambda: newest(deployment.runs / "killed") >= after, 120.0, f"a checkpoint of round {after}")
    pids = deployment.pids(VICTIM)
    os.kill(pids["worker"], signal.SIGSTOP)
    before = deployment.progress(VICTIM)
    others = [name for name in WARDS if name != VICTIM]
    wait_for(lambda: all(deployment.progress(name) > before for name in others), 120.0, "the others have trained")
    return pids


def ends_and_names_the_way_on(run: Program) -> None:
    assert run.ends(240.0) == 1, run.text
    assert "pfedgp resume" in run.text.splitlines()[-1]
    assert "Traceback" not in run.text


def kept(deployment: Deployment, name: str) -> list[bytes]:
    """The site's personal layers after the last round, of each run; the seal before them names the run."""
    return [file.read_bytes()[SEAL:] for file in deployment.site_state(name).glob(f"kept/*/*/{ROUNDS}.state")]


def test_kills_in_turn_change_no_bit(deployment: Deployment) -> None:
    plain = deployment.start_run("plain", *OPTIONS)
    assert plain.ends(400.0) == 0, plain.text

    run = deployment.start_run("killed", *OPTIONS)
    caught = caught_in_a_round(deployment, after=1)
    os.kill(deployment.server_app(), signal.SIGKILL)
    os.kill(caught["worker"], signal.SIGCONT)

    run = deployment.start_run("killed", verb="resume")
    os.kill(caught_in_a_round(deployment, after=3)["worker"], signal.SIGKILL)
    ends_and_names_the_way_on(run)

    run = deployment.start_run("killed", verb="resume")
    caught = caught_in_a_round(deployment, after=5)
    for who in ("supervisor", "supernode", "worker"):
        os.kill(caught[who], signal.SIGKILL)
    ends_and_names_the_way_on(run)
    deployment.start_site(VICTIM, "--data", str(deployment.data(VICTIM)))
    deployment.connected(VICTIM)

    run = deployment.start_run("killed", verb="resume")
    assert run.ends(400.0) == 0, run.text
    for which in ("best", "final"):
        vector, meta = load_model(deployment.runs / "killed" / which)
        expected, expected_meta = load_model(deployment.runs / "plain" / which)
        assert vector.tobytes() == expected.tobytes()
        assert meta["round"] == expected_meta["round"]
    for name in WARDS:
        one, other = kept(deployment, name)
        assert one == other
    assert deployment.summary("killed")["accuracy"] == deployment.summary("plain")["accuracy"]
