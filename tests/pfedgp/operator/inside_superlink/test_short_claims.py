"""One statement claims an object as Flower's own two do, on its own state in a database."""

from collections.abc import Callable
from typing import Any

import pytest
from flwr.app import Message
from flwr.supercore.corestate.sql_corestate import SqlCoreState

from pfedgp.operator.inside_superlink.short_claims import ShortClaims
from tests.pfedgp.operator.inside_superlink.test_carried_objects import contents_of, request_to, tree
from tests.pfedgp.operator.inside_superlink.test_known_keys import queries
from tests.pfedgp.operator.inside_superlink.test_redelivery import SuperLink

pytestmark = pytest.mark.slow

Claim = Callable[[Any, int, str, str], Any]


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Claim:
    """Flower's own claim; the patch is applied to its states for the time of a test."""
    former: Claim = SqlCoreState._claim_pending_object
    monkeypatch.setattr(SqlCoreState, "_claim_pending_object", former)  # put back in the end
    ShortClaims().apply()
    return former


def announced(link: SuperLink, run: int, value: int = 1) -> tuple[Message, str]:
    """A request of which no object has come, and its session."""
    request = request_to(run, link.register(str(value).encode()), value)
    session = link.state.start_session(run)
    assert link.state.store_message_and_object_tree(request, tree(request), session)[0]
    return request, session


def test_an_object_that_is_waited_for_is_claimed_once_as_by_flower(own: Claim, link: SuperLink) -> None:
    run = link.start_run()
    request, session = announced(link, run)
    first, second = list(contents_of(request))[:2]
    asked = queries(link)
    until = link.state._claim_pending_object(run, session, first)
    assert len(asked) == 1
    assert until is not None
    assert until == own(link.state, run, session, second)
    assert link.state._claim_pending_object(run, session, first) is None
    assert own(link.state, run, session, first) is None


def test_nothing_is_claimed_for_another_run_session_or_object(own: Claim, link: SuperLink) -> None:
    runs = link.start_run(), link.start_run()
    (request, session), (_, other) = (announced(link, run, value) for value, run in enumerate(runs))
    key = next(iter(contents_of(request)))
    for wrong in ((runs[1], session, key), (runs[0], other, key), (runs[0], session, "0" * 64), (runs[0], "", key)):
        assert link.state._claim_pending_object(*wrong) is None
        assert own(link.state, *wrong) is None
    assert link.state._claim_pending_object(runs[0], session, key) is not None


def test_a_message_whose_objects_have_all_come_waits_for_nothing(own: Claim, link: SuperLink) -> None:
    run = link.start_run()
    request, session = announced(link, run)
    for key, content in contents_of(request).items():
        assert link.state.store_object(run, session, key, content)
        assert not link.state.store_object(run, session, key, content)
    assert {key: link.store.get(key) for key in contents_of(request)} == contents_of(request)


def test_the_pinned_flower_has_what_it_needs() -> None:
    assert ShortClaims().missing() == ""
