"""Ray is shut down once no thread is within a call of it: clients under way are waited for, then killed."""

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from flwr.server.superlink.fleet.vce.backend import raybackend
from ray.util.actor_pool import ActorPool

from pfedgp.local import ray_end
from pfedgp.local.ray_end import COMPUTING, RayEnd
from pfedgp_core.errors import RunFailedError
from tests.waiting import wait_for


class Backend:
    """Stands for Flower's engine: one worker, whose call comes back when it is told to."""

    def __init__(self, config: dict[str, Any]) -> None:
        self.config = config
        self.pool = SimpleNamespace(**{COMPUTING: {}})
        self.within, self.comes_back, self.fails = threading.Event(), threading.Event(), False
        self.under_way, self.ended_with = 0, list[int]()

    def process_message(self, message: str, context: str) -> tuple[str, str]:
        self.under_way += 1
        getattr(self.pool, COMPUTING)["future"] = self
        self.within.set()
        self.comes_back.wait(60)
        self.under_way -= 1
        if self.fails:
            raise ValueError("an engine's own error")
        return message, context

    def terminate(self) -> None:
        self.ended_with.append(self.under_way)


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Of a simulation with the patch, whose actors cannot be killed."""
    monkeypatch.setattr(raybackend, "RayBackend", Backend)
    monkeypatch.setattr(ray, "kill", lambda actor, no_restart: None)
    monkeypatch.setattr(ray_end, "PATIENCE", 0.1)
    monkeypatch.setattr(ray_end, "KILLED", 0.2)
    monkeypatch.setattr(ray_end, "AGAIN", 0.1)
    with RayEnd().applied():
        made: Any = raybackend.RayBackend({"key": 1})
        yield made
        made.comes_back.set()


def a_call(backend: Any) -> threading.Thread:
    """Begin a call in a thread."""
    thread = threading.Thread(target=backend.process_message, args=("message", "context"), daemon=True)
    thread.start()
    assert backend.within.wait(60)
    return thread


def test_the_installed_flower_and_ray_have_what_it_needs() -> None:
    assert RayEnd().missing() == ""


def test_the_installed_pool_lists_its_workers_that_compute() -> None:
    assert getattr(ActorPool([]), COMPUTING) == {}


def test_a_flower_without_its_engine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(raybackend, "RayBackend")
    assert RayEnd().missing() == f"{raybackend.__name__}.RayBackend.process_message is gone"


def test_messages_are_processed_as_before(backend: Any) -> None:
    backend.comes_back.set()
    assert backend.config == {"key": 1}
    assert backend.process_message("message", "context") == ("message", "context")


def test_an_error_of_the_engine_is_what_it_was(backend: Any) -> None:
    backend.comes_back.set()
    backend.fails = True
    with pytest.raises(ValueError, match="own error"):
        backend.process_message("message", "context")


def test_without_clients_under_way_the_engine_ends_at_once(backend: Any) -> None:
    backend.terminate()
    assert backend.ended_with == [0]


def test_after_the_end_no_client_begins(backend: Any) -> None:
    backend.terminate()
    with pytest.raises(RunFailedError, match="has ended"):
        backend.process_message("message", "context")
    assert not backend.within.is_set()


def test_a_client_under_way_is_waited_for(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_end, "PATIENCE", 60.0)
    a_call(backend)
    ending = threading.Thread(target=backend.terminate, daemon=True)
    ending.start()
    wait_for(lambda: refuses(backend), 60, "the beginning of the end")
    assert backend.ended_with == []
    backend.comes_back.set()
    ending.join(60)
    assert backend.ended_with == [0]


def refuses(backend: Any) -> bool:
    """Whether a new client may not begin; asks without beginning one."""
    try:
        with backend._calls.one():
            return False
    except RunFailedError:
        return True


def test_one_that_does_not_come_back_is_killed(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    killed: list[tuple[Any, bool]] = []

    def kill(actor: Any, no_restart: bool) -> None:
        killed.append((actor, no_restart))
        backend.comes_back.set()

    monkeypatch.setattr(ray, "kill", kill)
    monkeypatch.setattr(ray_end, "AGAIN", 60.0)
    monkeypatch.setattr(ray_end, "KILLED", 60.0)
    a_call(backend)
    backend.terminate()
    assert killed == [(backend, True)]
    assert backend.ended_with == [0]


def test_an_actor_that_is_gone_does_not_hold_up_the_end(backend: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def kill(actor: Any, no_restart: bool) -> None:
        backend.comes_back.set()
        raise ValueError("no such actor")

    monkeypatch.setattr(ray, "kill", kill)
    monkeypatch.setattr(ray_end, "AGAIN", 60.0)
    monkeypatch.setattr(ray_end, "KILLED", 60.0)
    a_call(backend)
    backend.terminate()
    assert backend.ended_with == [0]


def test_while_a_call_does_not_come_back_ray_is_not_shut_down(backend: Any, capsys: pytest.CaptureFixture[str]) -> None:
    a_call(backend)
    backend.terminate()
    assert backend.ended_with == []
    assert capsys.readouterr().out == "The simulation engine does not answer: it ends with this process.\n"


def test_afterwards_flower_has_its_own_engine() -> None:
    former = raybackend.RayBackend
    with RayEnd().applied():
        assert raybackend.RayBackend is not former
    assert raybackend.RayBackend is former


def test_without_what_it_needs_nothing_is_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(ray, "kill")
    former = raybackend.RayBackend
    with RayEnd().applied():
        assert raybackend.RayBackend is former
