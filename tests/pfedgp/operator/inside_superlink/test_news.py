"""Who waits for a message hears of it once it is whole."""

import threading

import pytest

from pfedgp.operator.inside_superlink import news as module
from pfedgp.operator.inside_superlink.news import News


def test_a_message_without_objects_has_arrived_at_once_and_for_one_alone() -> None:
    news = News()
    news.announce("a", [])
    assert (news.count("a"), news.count("b")) == (1, 0)


def test_a_message_arrives_with_the_last_of_its_objects() -> None:
    news = News()
    news.announce("a", ["x", "y"])
    news.announce("b", ["y"])
    counted = [(news.count("a"), news.count("b"))]
    for each in ("y", "z", "x", "x"):
        news.stored(each)
        counted.append((news.count("a"), news.count("b")))
    assert counted == [(0, 0), (0, 1), (0, 1), (1, 1), (1, 1)]


def test_a_wait_ends_with_the_arrival_or_with_its_time() -> None:
    news = News()
    assert not news.wait("a", 0, 0.01)
    teller = threading.Timer(0.05, news.announce, ("a", []))
    teller.start()
    assert news.wait("a", 0, 60.0)
    assert news.wait("a", 0, 0.0), "what arrived before the wait counts as well"
    assert not news.wait("a", 1, 0.01)


def test_messages_that_never_come_whole_take_no_memory_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANNOUNCED", 2)
    news = News()
    for whose in "abc":
        news.announce(whose, [whose])
    for each in "abc":
        news.stored(each)
    assert [news.count(whose) for whose in "abc"] == [0, 1, 1]
