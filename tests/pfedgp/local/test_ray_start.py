"""Ray starts on a loaded machine, below a folder with a long name, and beside packages of our names."""

import os
from pathlib import Path
from typing import Any

import pytest
import ray
from ray._private import services

from pfedgp.local import ray_start
from pfedgp.local.ray_signals import RaySignals
from pfedgp.local.ray_start import LONGEST_SOCKET, RayStart, socket_folder
from pfedgp.processes.signals import StopSignals
from pfedgp_core.errors import ConfigError, RunFailedError

LATE = Exception("The current node timed out during startup. This could happen ...")


class Engine:
    """Stands for Ray: fails to start so many times."""

    def __init__(self, failures: int, error: Exception = LATE) -> None:
        self.failures, self.error = failures, error
        self.started: list[dict[str, Any]] = []

    def init(self, job_config: Any = None, **options: Any) -> str:
        self.started.append(options | {"job_config": job_config})
        if len(self.started) <= self.failures:
            raise self.error
        return "started"


def with_engine(monkeypatch: pytest.MonkeyPatch, engine: Engine) -> Engine:
    monkeypatch.setattr(ray, "init", engine.init)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    monkeypatch.setattr(ray_start, "_end_children", lambda: None)
    return engine


def test_the_installed_ray_has_what_it_needs() -> None:
    assert RayStart().missing() == ""


def test_it_goes_together_with_the_patch_of_the_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = with_engine(monkeypatch, Engine(failures=1))
    with RaySignals(StopSignals(lambda number: None, ())).applied(), RayStart().applied():
        assert RayStart().missing() == ""
        assert ray.init(num_cpus=1) == "started"
    assert len(engine.started) == 2


def test_a_node_that_starts_late_is_started_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = with_engine(monkeypatch, Engine(failures=1))
    with RayStart().applied():
        assert ray.init(num_cpus=1) == "started"
    assert len(engine.started) == 2


def test_one_that_never_starts_ends_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    with_engine(monkeypatch, Engine(failures=9))
    with pytest.raises(RunFailedError, match="did not start 2 times"), RayStart().applied():
        ray.init()


def test_another_failure_is_what_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = with_engine(monkeypatch, Engine(failures=1, error=ValueError("no such option")))
    with pytest.raises(ValueError, match="no such option"), RayStart().applied():
        ray.init()
    assert len(engine.started) == 1


def test_a_node_that_runs_and_has_not_registered_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def get_node(gcs_address: str, node_id: str) -> str:
        asked.append(node_id)
        if len(asked) < 3:
            raise RuntimeError("no node info")
        return "node"

    monkeypatch.setattr(services, "get_node", get_node)
    monkeypatch.setattr(ray_start, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(ray_start, "_node_runs", lambda: True)
    with RayStart().applied():
        assert services.get_node("127.0.0.1:1", "n") == "node"
    assert services.get_node is get_node


def test_a_node_that_has_ended_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    def get_node(gcs_address: str, node_id: str) -> str:
        raise RuntimeError("no node info")

    monkeypatch.setattr(services, "get_node", get_node)
    monkeypatch.setattr(ray_start, "_node_runs", lambda: False)
    with pytest.raises(RuntimeError, match="no node info"), RayStart().applied():
        services.get_node("127.0.0.1:1", "n")


def test_the_working_folder_is_not_put_before_our_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = with_engine(monkeypatch, Engine(failures=0))
    with RayStart().applied():
        ray.init()
    assert engine.started[0]["job_config"]._runtime_env_has_working_dir()  # Ray's own question


def test_a_long_name_of_the_folder_of_temporary_files_gives_way_to_a_short_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path / ("x" * 100)))
    folder = socket_folder()
    assert folder is not None
    assert len(folder + ray_start.BELOW) <= LONGEST_SOCKET


def test_a_short_name_is_left_to_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_TMPDIR", raising=False)
    monkeypatch.setenv("TMPDIR", "/var/tmp")
    assert socket_folder() is None


def test_without_a_short_folder_the_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", "/" + "x" * 100)
    monkeypatch.setattr(os, "access", lambda *arguments: False)
    with pytest.raises(ConfigError, match=r"set RAY_TMPDIR to a folder of at most 3[0-9] characters"):
        socket_folder()
