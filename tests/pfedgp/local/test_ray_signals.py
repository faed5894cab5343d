"""Signals while Ray runs: taken back when it has started, and again before it ends its processes."""

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
import ray
from ray._private import worker as ray_worker

from pfedgp.local.ray_signals import RaySignals

if TYPE_CHECKING:
    from pfedgp.processes.signals import StopSignals


class Signals:
    """Counts how often the signals were taken."""

    def __init__(self) -> None:
        self.installed = 0

    def install(self) -> None:
        self.installed += 1


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> Signals:
    """Of a process in which Ray starts at once, with a node."""
    monkeypatch.setattr(ray, "init", lambda **options: options)
    monkeypatch.setattr(ray_worker, "_global_node", SimpleNamespace(kill_all_processes=lambda: "killed"))
    return Signals()


def patch(signals: Signals) -> RaySignals:
    return RaySignals(cast("StopSignals", signals))


def test_the_installed_ray_has_what_it_needs() -> None:
    assert RaySignals().missing() == ""


def test_a_ray_without_a_node_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ray_worker, "_global_node")
    assert RaySignals().missing() == "ray._private.worker._global_node is gone"


def test_the_signals_are_taken_back_once_ray_has_started(signals: Signals) -> None:
    with patch(signals).applied():
        ray.init(num_cpus=1)
    assert signals.installed == 1


def test_ray_starts_with_the_options_that_it_was_given(signals: Signals) -> None:
    with patch(signals).applied():
        assert ray.init(num_cpus=1) == {"num_cpus": 1}


def test_the_signals_are_taken_back_before_rays_processes_end(signals: Signals) -> None:
    with patch(signals).applied():
        ray.init()
        ray_worker._global_node.kill_all_processes()
    assert signals.installed == 2


def test_a_start_that_was_interrupted_takes_them_back(monkeypatch: pytest.MonkeyPatch, signals: Signals) -> None:
    def interrupted(**options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(ray, "init", interrupted)
    with pytest.raises(KeyboardInterrupt), patch(signals).applied():
        ray.init()
    assert signals.installed == 1


def test_afterwards_ray_has_its_own_function(signals: Signals) -> None:
    former = ray.init
    with patch(signals).applied():
        pass
    assert ray.init is former


def test_without_what_it_needs_nothing_is_changed(monkeypatch: pytest.MonkeyPatch, signals: Signals) -> None:
    monkeypatch.delattr(ray_worker, "_global_node")
    former = ray.init
    with patch(signals).applied():
        assert ray.init is former
