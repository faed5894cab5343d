"""A look for messages waits at the SuperLink for one, on Flower's own state in memory and in a database."""

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from flwr.server.superlink.linkstate import InMemoryLinkState, SqlLinkState
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects, get_object_tree

from pfedgp.operator.inside_superlink import held_looks
from pfedgp.operator.inside_superlink.held_looks import HeldLooks
from pfedgp.operator.inside_superlink.news import News
from tests.pfedgp.operator.inside_superlink.test_kept_replies import SuperLink as Stock

LONG = 60.0  # seconds: no test waits for so long


class SuperLink(Stock):
    """One that holds looks, before or after the other patches of it."""

    def __init__(self, database: str) -> None:
        super().__init__(database)
        HeldLooks(self.handler, self.runtime).apply()
        self.waits = threading.Semaphore(0)  # released by each look that begins to wait

    def announce(self, run: int, message: Message) -> list[Callable[[], None]]:
        """Store a message; each of what is returned then stores one of its objects."""
        session = self.state.start_session(run)
        stored, lacking = self.state.store_message_and_object_tree(message, get_object_tree(message), session)
        assert stored
        objects = get_all_nested_objects(message)

        def store(each: str) -> None:
            assert self.state.store_object(run, session, each, objects[each].deflate())

        return [partial(store, each) for each in lacking]

    def send(self, run: int, node: int) -> str:
        """Send a whole request to a node; its id."""
        message = request_to(run, node)
        for store in self.announce(run, message):
            store()
        return message.metadata.message_id

    def reply(self, run: int, node: int, request: str) -> None:
        """Let a node send a whole reply."""
        question = request_to(run, node)
        question.metadata.__dict__["_message_id"] = request
        reply = Message(RecordDict(), reply_to=question)
        reply.metadata.__dict__["_ttl"] -= 600.0  # it ends with its request, which is a little older than this copy
        reply.metadata.__dict__["_message_id"] = reply.object_id
        for store in self.announce(run, reply):
            store()


def request_to(run: int, node: int) -> Message:
    message = Message(RecordDict({"a": ConfigRecord({"b": 1})}), dst_node_id=node, message_type="train")
    message.metadata.__dict__.update(_run_id=run, _src_node_id=SUPERLINK_NODE_ID)
    message.metadata.__dict__["_message_id"] = message.object_id
    return message


@pytest.fixture
def link(database: str, monkeypatch: pytest.MonkeyPatch) -> SuperLink:
    for kind in (InMemoryLinkState, SqlLinkState):  # put back after the test
        for name in ("store_message_and_object_tree", "store_object"):
            monkeypatch.setattr(kind, name, getattr(kind, name))
    monkeypatch.setattr(held_looks, "HOLD", LONG)
    return watched(SuperLink(database), monkeypatch)


def watched(link: SuperLink, monkeypatch: pytest.MonkeyPatch) -> SuperLink:
    """The same, which hears of the looks that wait."""
    wait = News.wait

    def heard(*asked: Any) -> bool:
        link.waits.release()
        return wait(*asked)

    monkeypatch.setattr(News, "wait", heard)
    return link


class Held:
    """A look in a thread of its own; with a semaphore of looks that wait, one that does so when this is made."""

    def __init__(self, look: Callable[[], Any], waits: threading.Semaphore | None = None) -> None:
        self.found: list[Any] = []
        self.began = time.monotonic()
        self._thread = threading.Thread(target=lambda: self.found.append(look()), daemon=True)
        self._thread.start()
        if waits is not None:
            assert waits.acquire(timeout=LONG / 2)

    def still(self) -> bool:
        """Whether it still waits, a moment later."""
        self._thread.join(0.3)
        return self._thread.is_alive()

    def end(self) -> Any:
        """What it has found."""
        self._thread.join(LONG / 2)
        assert not self._thread.is_alive()
        return self.found[0]


@pytest.mark.slow
def test_a_site_gets_the_request_that_comes_while_it_looks(link: SuperLink) -> None:
    run, node = link.start_run(), link.register(b"a")
    look = Held(lambda: link.pull(node), link.waits)
    assert look.still()
    message = link.send(run, node)
    assert look.end() == [message]


def test_a_request_to_another_site_does_not_end_a_look(link: SuperLink) -> None:
    run, node, other = link.start_run(), link.register(b"a"), link.register(b"b")
    look = Held(lambda: link.pull(node), link.waits)
    link.send(run, other)
    assert look.still()
    message = link.send(run, node)
    assert look.end() == [message]


@pytest.mark.slow
def test_a_request_is_found_once_its_content_is_there(link: SuperLink) -> None:
    """Before that the site would ask for the content in vain, and again only a second later."""
    run, node = link.start_run(), link.register(b"a")
    message = request_to(run, node)
    look = Held(lambda: link.pull(node), link.waits)
    objects = link.announce(run, message)
    assert len(objects) > 1
    for store in objects:
        assert look.still()
        store()
    assert look.end() == [message.metadata.message_id]


def test_a_server_app_gets_the_reply_that_comes_while_it_looks(link: SuperLink) -> None:
    run, node = link.start_run(), link.register(b"a")
    request = link.send(run, node)
    assert link.pull(node) == [request]
    look = Held(lambda: link.replies(run, request), link.waits)
    assert look.still()
    link.reply(run, node, request)
    assert look.end() == {request: None}


def test_what_is_there_already_is_given_at_once(link: SuperLink) -> None:
    run, node = link.start_run(), link.register(b"a")
    message = link.send(run, node)
    assert Held(lambda: link.pull(node)).end() == [message]


def test_a_look_that_finds_nothing_ends(link: SuperLink, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_looks, "HOLD", 0.2)
    node = link.register(b"a")
    look = Held(lambda: link.pull(node), link.waits)
    assert look.end() == []
    assert time.monotonic() - look.began >= 0.2


def test_only_so_many_looks_are_held(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_looks, "SITES", 1)
    for kind in (InMemoryLinkState, SqlLinkState):
        for name in ("store_message_and_object_tree", "store_object"):
            monkeypatch.setattr(kind, name, getattr(kind, name))
    monkeypatch.setattr(held_looks, "HOLD", LONG)
    link = watched(SuperLink(database), monkeypatch)
    run, first, second = link.start_run(), link.register(b"a"), link.register(b"b")
    look = Held(lambda: link.pull(first), link.waits)
    assert look.still()
    assert Held(lambda: link.pull(second)).end() == []
    message = link.send(run, first)
    assert look.end() == [message]


def test_what_the_patch_needs_is_there() -> None:
    assert HeldLooks().missing() == ""


def counted(link: SuperLink, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The nodes for which the state is asked, of looks that are not held."""
    monkeypatch.setattr(held_looks, "HOLD", 0.0)
    asked: list[int] = []
    get = link.state.get_message_ins

    def noted(*, node_id: int, **named: Any) -> Any:
        asked.append(node_id)
        return get(node_id=node_id, **named)

    monkeypatch.setattr(link.state, "get_message_ins", noted)
    return asked


def test_a_look_asks_the_state_only_after_something_was_stored_for_the_site(
    link: SuperLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, node, other = link.start_run(), link.register(b"a"), link.register(b"b")
    asked = counted(link, monkeypatch)
    assert [link.pull(node) for _ in range(3)] == [[], [], []]
    assert asked == [node]
    link.send(run, other)
    assert link.pull(node) == []
    assert asked == [node]
    message = link.send(run, node)
    assert link.pull(node) == [message]
    assert asked == [node, node]


def test_a_look_that_read_before_a_message_was_stored_hides_nothing(
    link: SuperLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, node = link.start_run(), link.register(b"a")
    counted(link, monkeypatch)
    get, sent = link.state.get_message_ins, list[str]()

    def overtaken(**named: Any) -> Any:
        found = get(**named)
        if not sent:
            sent.append(link.send(run, node))
        return found

    monkeypatch.setattr(link.state, "get_message_ins", overtaken)
    assert link.pull(node) == sent


def test_what_came_unheard_is_found_after_a_while(link: SuperLink, monkeypatch: pytest.MonkeyPatch) -> None:
    from pfedgp.operator.inside_superlink import quiet_sites

    run, node = link.start_run(), link.register(b"a")
    counted(link, monkeypatch)
    monkeypatch.setattr(News, "stirred", lambda *_: 0)
    assert link.pull(node) == []
    message = link.send(run, node)
    assert link.pull(node) == []
    monkeypatch.setattr(quiet_sites, "SURE", 0.0)
    assert link.pull(node) == [message]
