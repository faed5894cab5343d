"""Flower's waits in a SuperNode, shortened: how long a site sleeps, and when it is woken."""

import threading
from types import SimpleNamespace

import flwr.supernode.start_client_internal as supernode_loop
import pytest

from pfedgp.site import flower_waits
from pfedgp.site.flower_waits import LINGER, LONG, SHORT, ShortWaits, Waits


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


def test_the_loop_waits_with_the_waits_that_it_was_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supernode_loop, "time", supernode_loop.time)
    waits = Waits()
    ShortWaits(waits).apply()
    assert supernode_loop.time is waits


def test_a_loop_that_waits_with_something_else_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(supernode_loop, "time")
    assert ShortWaits().missing() == "flwr.supernode.start_client_internal does not wait with the module time"


def test_a_loop_that_waits_for_another_time_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flower_waits.inspect, "getsource", lambda module: "time.sleep(3)")
    assert ShortWaits().missing() == "flwr.supernode.start_client_internal has no time.sleep(0.5)"
