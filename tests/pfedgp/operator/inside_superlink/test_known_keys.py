"""Whose a key is is kept for seconds, and a removed site is refused at once, on Flower's own state in a database."""

from typing import Any

import pytest
from flwr.common.constant import NOOP_FLWR_AID
from flwr.server.superlink.linkstate import SqlLinkState

from pfedgp.operator.inside_superlink import kept_answers
from pfedgp.operator.inside_superlink.known_keys import KEPT, KnownKeys
from tests.pfedgp.operator.inside_superlink.test_redelivery import SuperLink
from tests.waiting import FakeTime

pytestmark = pytest.mark.slow


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeTime:
    """The clock of the patch, which is applied to Flower's states for the time of a test."""
    fake = FakeTime()
    monkeypatch.setattr(kept_answers, "time", fake)
    for name in ("get_node_id_by_public_key", "delete_node"):  # put back in the end
        monkeypatch.setattr(SqlLinkState, name, getattr(SqlLinkState, name))
    KnownKeys().apply()
    return fake


def queries(link: SuperLink) -> list[str]:
    """What the database is asked from now on."""
    from sqlalchemy import event

    asked = list[str]()

    def note(connection: Any, cursor: Any, statement: str, *others: Any) -> None:
        asked.append(statement)

    event.listen(link.state._engine, "before_cursor_execute", note)
    return asked


def test_a_known_key_asks_the_database_once_in_five_seconds(clock: FakeTime, link: SuperLink) -> None:
    node = link.register(b"a")
    asked = queries(link)
    assert [link.state.get_node_id_by_public_key(b"a") for _ in range(3)] == [node] * 3
    assert len(asked) == 1
    clock.now += KEPT
    assert link.state.get_node_id_by_public_key(b"a") == node
    assert len(asked) == 2


def test_an_unknown_key_is_known_as_soon_as_it_is_registered(clock: FakeTime, link: SuperLink) -> None:
    assert link.state.get_node_id_by_public_key(b"a") is None
    assert link.register(b"a") == link.state.get_node_id_by_public_key(b"a")


def test_a_removed_site_is_unknown_at_once(clock: FakeTime, link: SuperLink) -> None:
    node, other = link.register(b"a"), link.register(b"b")
    assert link.state.get_node_id_by_public_key(b"a") == node
    link.state.delete_node(NOOP_FLWR_AID, node)
    assert link.state.get_node_id_by_public_key(b"a") is None
    assert link.state.get_node_id_by_public_key(b"b") == other


def test_a_lookup_that_a_removal_overtakes_is_not_kept(
    clock: FakeTime, link: SuperLink, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = link.register(b"a")
    session = link.state.session

    def overtaken() -> Any:
        """The session of the lookup ends, and then the site is removed, before the lookup knows what it has read."""
        monkeypatch.setattr(link.state, "session", session)
        entered = session()

        class Session:
            def __enter__(self) -> Any:
                return entered.__enter__()

            def __exit__(self, *error: object) -> Any:
                ended = entered.__exit__(*error)
                link.state.delete_node(NOOP_FLWR_AID, node)
                return ended

        return Session()

    monkeypatch.setattr(link.state, "session", overtaken)
    assert link.state.get_node_id_by_public_key(b"a") == node
    assert link.state.get_node_id_by_public_key(b"a") is None


def test_a_database_that_another_process_changed_is_heeded_after_five_seconds(clock: FakeTime, link: SuperLink) -> None:
    node = link.register(b"a")
    assert link.state.get_node_id_by_public_key(b"a") == node
    known_keys_aside = SqlLinkState.delete_node.__wrapped__  # type: ignore[attr-defined]
    known_keys_aside(link.state, NOOP_FLWR_AID, node)
    assert link.state.get_node_id_by_public_key(b"a") == node
    clock.now += KEPT
    assert link.state.get_node_id_by_public_key(b"a") is None


def test_the_pinned_flower_has_what_it_needs() -> None:
    assert KnownKeys().missing() == ""
