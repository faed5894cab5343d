"""Flower's waits in a SuperNode, shortened: which Flower that can be done to, and what it does."""

import sys
import threading
from types import SimpleNamespace
from typing import Any

import flwr.supernode.start_client_internal as supernode_loop
import pytest
from flwr.proto.message_pb2 import ObjectTree
from flwr.supercore.inflatable import inflatable_utils
from flwr.supernode.runtime import run_clientapp

from pfedgp.site import flower_waits
from pfedgp.site.flower_waits import LINGER, LONG, SHORT, Waits, fast_rounds_unsupported, shorten_waits
from server.flower import object_retry


def test_the_pinned_flower_is_one_that_waits_can_be_shortened_in() -> None:
    assert fast_rounds_unsupported() == ""


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda m: m.setattr("flwr.__version__", "1.40.0"), "Flower 1.40.0 is installed"),
        (lambda m: m.delattr(supernode_loop, "time"), "waits in another way"),
        (lambda m: m.setitem(sys.modules, "pfedgp.site.agent", None), "is missing"),
    ],
)
def test_another_flower_is_left_alone(monkeypatch: pytest.MonkeyPatch, change: Any, reason: str) -> None:
    change(monkeypatch)
    assert reason in fast_rounds_unsupported()


def test_objects_on_their_way_are_asked_for_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    functions = (inflatable_utils.pull_objects, inflatable_utils.pull_and_inflate_object_from_tree)
    for function in functions:
        monkeypatch.setattr(function, "__kwdefaults__", function.__kwdefaults__ | {"initial_backoff": 1})
    assert object_retry.shorten_object_retry()
    assert [function.__kwdefaults__["initial_backoff"] for function in functions] == [0.05, 0.05]
    tries: list[str] = []

    def pull(object_id: str) -> bytes:
        tries.append(object_id)
        if len(tries) < 3:
            raise inflatable_utils.ObjectUnavailableError(object_id)
        return b"content"

    waited: list[float] = []

    class Event(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            waited.append(timeout or 0.0)
            return self.is_set()

    monkeypatch.setattr(inflatable_utils, "threading", SimpleNamespace(Event=Event, Lock=threading.Lock))
    assert inflatable_utils.pull_objects(["a"], pull) == {"a": b"content"}
    assert len(waited) == 2
    assert sum(waited) < 0.8  # Flower's own first wait alone is 0.8 s or more


def test_objects_that_never_come_do_not_hold_a_site_up(monkeypatch: pytest.MonkeyPatch) -> None:
    for function in (inflatable_utils.pull_objects, inflatable_utils.pull_and_inflate_object_from_tree):
        monkeypatch.setattr(function, "__kwdefaults__", dict(function.__kwdefaults__))
    for name in ("time", "_pull_and_store_message"):
        monkeypatch.setattr(supernode_loop, name, getattr(supernode_loop, name))
    monkeypatch.setattr(flower_waits, "CONTENT", 0.3)
    monkeypatch.setattr(flower_waits, "STORED", 0.2)
    shorten_waits()

    def missing(object_id: str) -> bytes:
        raise inflatable_utils.ObjectUnavailableError(object_id)

    # Flower's own limit is two hours.
    with pytest.raises(inflatable_utils.ObjectPullError):  # the loop, from the SuperLink
        supernode_loop.pull_objects(["a"], missing)
    with pytest.raises(inflatable_utils.ObjectPullError):  # the agent, from the loop
        run_clientapp.pull_and_inflate_object_from_tree(ObjectTree(object_id="a"), missing, lambda object_id: None)


def test_without_the_parameter_flowers_own_wait_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inflatable_utils, "pull_objects", lambda ids, pull: {})
    monkeypatch.delattr(inflatable_utils, "pull_and_inflate_object_from_tree")
    assert not object_retry.shorten_object_retry()


def test_a_site_looks_often_while_messages_come_and_seldom_else(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = SimpleNamespace(now=1000.0), []
    monkeypatch.setattr(
        flower_waits, "time", SimpleNamespace(monotonic=lambda: clock.now, sleep=slept.append, time=lambda: 5.0)
    )
    waits = Waits()
    assert not waits.connected.is_set()
    waits.sleep(3)
    assert waits.connected.is_set()
    assert not waits.task.is_set()
    waits.reply.set()
    waits.sleep(0.5)  # the loop waits for a reply: a message is there
    assert waits.task.is_set()
    assert not waits.reply.is_set()
    waits.sleep(3)
    clock.now += LINGER - 1
    waits.sleep(3)
    clock.now += 2
    waits.sleep(3)
    assert slept == [LONG, SHORT, SHORT, LONG]
    assert waits.time() == 5.0  # the rest of the module is as it was


def test_the_loop_goes_on_as_soon_as_the_reply_is_there() -> None:
    waits = Waits()
    threading.Timer(0.01, waits.reply.set).start()
    while not waits.task.is_set():
        waits.sleep(0.5)
