"""Greetings on their way: at most one a node, no more than the window, and silence keeps nobody else from one."""

import pytest
from flwr.app import ConfigRecord, Message
from flwr.clientapp import ClientApp

from server.clients import greetings as greetings_module
from server.clients.greetings import LONGEST_PAUSE, Greetings
from tests.fakegrid import FakeGrid
from tests.waiting import FakeTime

silent = FakeGrid(ClientApp(), 5, lambda request, index, reply: None)
LIFE = 60.0


def greeted(greetings: Greetings, grid: FakeGrid, nodes: int) -> list[int]:
    """Greet the first nodes that may be greeted, and return their positions."""
    due = greetings.due(sorted(grid.get_node_ids())[:nodes])
    sent = greetings.send(grid, ConfigRecord({}), dict.fromkeys(due, LIFE))
    return [sorted(grid.get_node_ids()).index(node) for node in sent]


def test_silent_nodes_keep_nobody_else_from_a_greeting() -> None:
    greetings = Greetings()
    assert greeted(greetings, silent, 3) == [0, 1, 2]
    assert greeted(greetings, silent, 5) == [3, 4]


def test_a_window_bounds_the_greetings_under_way() -> None:
    greetings = Greetings(window=2)
    assert greeted(greetings, silent, 5) == [0, 1]
    assert greeted(greetings, silent, 5) == []


def test_an_answer_makes_room_in_the_window() -> None:
    def only_one(request: Message, index: int, reply: Message) -> Message | None:
        return reply if grid.sent[0] is request else None

    grid = FakeGrid(ClientApp(), 5, only_one)
    greetings = Greetings(window=2)
    greeted(greetings, grid, 5)
    assert len(greetings.answers(grid)) == 1
    assert len(greeted(greetings, grid, 5)) == 1


def test_a_node_whose_answers_fail_is_greeted_less_and_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = FakeTime()
    monkeypatch.setattr(greetings_module, "time", clock)
    greetings, pauses = Greetings(), []
    for _ in range(8):
        greetings.put_off_longer(7, "its reply was lost", 2.0)
        began = clock.now
        while not greetings.due([7]):
            clock.sleep(1.0)
        pauses.append(clock.now - began)
    assert pauses == [2, 4, 8, 16, 32, LONGEST_PAUSE, LONGEST_PAUSE, LONGEST_PAUSE]
    greetings.accept(7)
    greetings.put_off_longer(7, "its reply was lost", 2.0)
    clock.sleep(2.0)
    assert greetings.due([7])
