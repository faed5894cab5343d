"""The image and the containers of the session, made once, and a run that several tests look at."""

import os
import time
from collections.abc import Iterator

import pytest

from tests.deploy.containers.compose import Project, Watched, docker, runner


@pytest.fixture(scope="session")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its name."""
    project, began = Project(tmp_path_factory.mktemp("image")), time.monotonic()
    try:
        project.compose("build", "setup")
        print(f"\nimage built in {time.monotonic() - began:.0f} s")
        yield project.image
    finally:
        if os.environ.get("PFEDGP_COMPOSE_KEEP") != "1":
            docker("rmi", project.image, check=False)


@pytest.fixture(scope="session")
def project(image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    project = Project(tmp_path_factory.mktemp("compose"))
    assert project.image == image
    try:
        began = time.monotonic()
        project.compose("up", "--detach", "superexec", "client-00", "client-01", "client-02")
        project.wait_healthy()
        print(f"all services healthy after {time.monotonic() - began:.0f} s")
        print(project.compose("ps"))
        yield project
    finally:
        if os.environ.get("PFEDGP_COMPOSE_KEEP") != "1":
            project.remove()


@pytest.fixture(scope="session")
def plain(project: Project) -> Watched:
    """A run of 20 rounds in which nothing happens."""
    began = time.monotonic()
    run = runner(project, "run", "--rounds", "20", "--seed", "0", "--out", "/state/runs/plain")
    assert run.end() == 0, run.text
    print(f"20 rounds in {time.monotonic() - began:.0f} s")
    return run
