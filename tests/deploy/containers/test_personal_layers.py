"""FedPer in containers: the server's and a site's are killed, and the end has the bits of a run without faults."""

import pytest
from safetensors.numpy import load_file

from client.state import SEAL
from tests.deploy.containers.compose import MARKS, Project, docker, runner

pytestmark = MARKS

ROUNDS = 6
OPTIONS = (
    *("run", "--method", "fedper", "--rounds", str(ROUNDS), "--clients-per-round", "3"),
    *("--set", "on-failure=stop", "--set", "local-steps=5", "--set", "evaluate-every=2"),
)


def kept(project: Project, service: str) -> list[str]:
    """Hashes of the site's personal layers after the last round, of each run; the seal before them names the run."""
    each = f"for file in /state/kept/*/*/{ROUNDS}.state; do tail -c +{SEAL + 1} $file | sha256sum; done"
    done = project.execute(service, "sh", "-c", each)
    return [line.split()[0] for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def whole(project: Project) -> dict[str, bytes]:
    """The final vector of a run that nothing happens to."""
    run = runner(project, *OPTIONS, "--out", "/state/runs/fedper")
    assert run.end() == 0, run.text
    return {key: value.tobytes() for key, value in load_file(project.out / "fedper/final/model.safetensors").items()}


def test_killed_containers_change_no_bit(project: Project, whole: dict[str, bytes]) -> None:
    run = runner(project, *OPTIONS, "--out", "/state/runs/fedper-cut")
    run.wait_for(r"^round +2/6 ")
    docker("kill", project.container("superexec"))
    docker("kill", project.container("client-01"))
    docker("start", project.container("superexec"), project.container("client-01"))
    assert run.end() == 1, run.text
    project.wait_healthy()
    again = runner(project, "resume", "fedper-cut")
    assert again.end() == 0, again.text
    folder = project.out / "fedper-cut"
    assert {key: v.tobytes() for key, v in load_file(folder / "final/model.safetensors").items()} == whole
    for service in ("client-00", "client-01", "client-02"):
        one, other = kept(project, service)
        assert one == other
