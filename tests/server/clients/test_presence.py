"""Who is there: every client is in one place, and a list of before serves no longer once somebody falls silent."""

from itertools import product

from pfedgp_core.wire.hello import Hello
from server.clients.presence import Presence
from server.clients.record import Client
from server.clients.roster import Roster
from tests.federation_run import SMALL

HELLO = Hello("a", (0, 1), ("x", "y", "z"), 5, 2, 3, (3, 8, 8), "hash", {"flwr": "1"}, (0.5,), (1.5,))
# By name: every way in which a node takes part or not, and a client answers or not.
PLACES = {f"{node}{silent}": (node, silent) for node, silent in product((0, 1), (0, 1))}


def test_each_client_is_in_its_place() -> None:
    clients = {name: Client(10 + place, HELLO) for place, name in enumerate(sorted(PLACES, reverse=True))}
    nodes = {clients[name].node_id for name, (there, _) in PLACES.items() if there}
    found = Presence.of(clients, nodes, lambda name: bool(PLACES[name][1]))
    assert found.all == [clients[name] for name in ("00", "01", "10", "11")]
    assert found.online == [clients["10"]]
    assert found.returning == ["11"]
    assert found.missing == ["00", "01", "11"]


def test_a_client_that_falls_silent_is_missing_at_once_and_back_once_it_answers() -> None:
    roster = Roster(SMALL)
    roster.clients, roster.connected = {"a": Client(1, HELLO)}, {1}
    assert roster.missing() == []
    roster.answering.silent("a")
    assert (roster.missing(), roster.returning(), roster.online()) == (["a"], ["a"], [])
    roster.answering.answered("a")
    assert (roster.missing(), [client.name for client in roster.online()]) == ([], ["a"])


def test_who_gets_a_list_may_change_it() -> None:
    roster = Roster(SMALL)
    roster.clients, roster.connected = {"a": Client(1, HELLO)}, {1}
    for listed in (roster.all, roster.online()):
        listed.clear()
    assert len(roster.all) == len(roster.online()) == 1
