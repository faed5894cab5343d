"""Whose name a site uses: that of its own key, another one, or one that belongs to another site."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from client import own_site as own_site_module
from pfedgp_core.config import Settings
from pfedgp_core.wire.hello import Hello
from server.clients.key_names import KeyNames
from server.clients.record import Client
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from tests.own_sites import OwnGrid, archive, rows_of

ONE = Settings(min_clients=1, clients_per_round=1, min_results=1, wait_timeout=30.0)


def keyed_grid(tmp_path: Path, **keys: str) -> OwnGrid:
    """Sites by the names that they say, each with the name of its key; all have the same data."""
    grid = OwnGrid({})
    for name, key in keys.items():
        add_keyed(grid, tmp_path, name, key)
    return grid


def add_keyed(grid: OwnGrid, tmp_path: Path, name: str, key: str) -> int:
    node = grid.add_site(name, archive(tmp_path / f"{key}.npz", rows_of(0, 1)))
    grid.keys[node] = key
    return node


def known(roster: Roster) -> dict[str, str]:
    return {client.name: client.key for client in roster.online()}


def test_a_site_may_have_another_name_than_its_key(tmp_path: Path) -> None:
    roster = Roster(ONE.replace(min_clients=2))
    wait_for_clients(roster, keyed_grid(tmp_path, a="a", ward="client-1"))
    assert known(roster) == {"a": "a", "ward": "client-1"}


def test_a_site_cannot_take_the_name_of_another_sites_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.clients.roster.BROKEN_RETRY_AFTER", 0.0)
    monkeypatch.setattr("client.notices._said", {})  # another test may have said the same to this site
    grid = OwnGrid({})
    owner = add_keyed(grid, tmp_path, "a", "a")
    roster = Roster(ONE)
    wait_for_clients(roster, grid)
    context = grid.contexts.pop(owner)
    roster.refresh(grid)

    thief = add_keyed(grid, tmp_path, "a", "b")
    for _ in range(3):
        roster.refresh(grid)
    assert known(roster) == {}
    assert list(roster.refusals) == [thief]
    said = [
        r.getMessage() for r in caplog.records if "key 'b' calls itself 'a', but that is the name of" in r.getMessage()
    ]
    assert len(said) == 2  # once on the server's console, and once in the site's own log
    assert said[1] == f"the server says: {said[0]}"

    grid.contexts[owner] = context
    roster.refresh(grid)
    assert known(roster) == {"a": "a"}
    assert roster.clients["a"].node_id == owner
    grid.contexts[thief].node_config["client-name"] = "b"
    grid.names[thief] = "b"
    roster.refresh(grid)
    assert known(roster) == {"a": "a", "b": "b"}


class NotWalked(dict[str, Client]):
    """Clients that may be looked up by name, and not one after the other: there may be thousands."""

    def __iter__(self) -> Iterator[str]:
        raise AssertionError("walked over all clients")

    keys = values = items = __iter__  # type: ignore[assignment]


def test_a_name_is_compared_with_those_alone_that_look_like_it() -> None:
    hello = Hello("x", (0, 1), ("a", "b"), 2, 0, 0, (2,), "", {})
    names = KeyNames()
    clients = NotWalked({f"client-{i:04d}": Client(i, hello) for i in range(1, 1001)})
    for i in range(1, 1001):
        names.joined(f"client-{i:04d}")
    assert names.twin("client-0500", 500, clients) == ""
    assert names.twin("client-1001", 1001, clients) == ""
    assert "looks like 'client-0010'" in names.twin("client-O01O", 1001, clients)
    assert names.twin("Client-0007", 7, clients) == ""  # the same node under another name


def test_the_owner_of_a_name_gets_it_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    grid = OwnGrid({})
    thief = add_keyed(grid, tmp_path, "a", "b")
    roster = Roster(ONE)
    wait_for_clients(roster, grid)
    assert known(roster) == {"a": "b"}
    owner = add_keyed(grid, tmp_path, "a", "a")
    roster.refresh(grid)
    roster.refresh(grid)
    assert known(roster) == {"a": "a"}
    assert roster.clients["a"].node_id == owner
    assert list(roster.refusals) == [thief]
    assert "key 'b' calls itself 'a'" in caplog.text


def test_a_name_stays_with_its_key_over_a_resume(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    roster = Roster(ONE)
    wait_for_clients(roster, keyed_grid(tmp_path, ward="client-1"))
    resumed = Roster(ONE.replace(min_results=1))
    resumed.adopt_state(roster.to_state())
    grid = keyed_grid(tmp_path, ward="client-2")
    resumed.refresh(grid)
    assert known(resumed) == {}
    assert "in this run that is the site with the key 'client-1'" in caplog.text
    add_keyed(grid, tmp_path, "ward", "client-1")
    resumed.refresh(grid)
    assert known(resumed) == {"ward": "client-1"}


def test_checkpoints_without_keys_and_nodes_without_keys(tmp_path: Path) -> None:
    grid = OwnGrid({"ward": archive(tmp_path / "w.npz", rows_of(0, 1))})
    roster = Roster(ONE)
    wait_for_clients(roster, grid)
    assert known(roster) == {"ward": ""}
    state = roster.to_state()
    assert '"key"' not in state["presented"]
    resumed = Roster(ONE)
    resumed.adopt_state(state)
    resumed.refresh(grid)
    assert known(resumed) == {"ward": ""}


def answers_with(grid: OwnGrid, node: int, name: str) -> None:
    """From now on a node says another name of itself."""
    grid.contexts[node].node_config["client-name"] = name
    own_site_module.own_site.cache_clear()


def test_a_node_is_one_client_however_often_it_is_renamed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    grid = OwnGrid({})
    node = add_keyed(grid, tmp_path, "z1", "z")
    roster = Roster(ONE)
    wait_for_clients(roster, grid)
    for name in ("z2", "z3"):
        answers_with(grid, node, name)
        roster.answering.failed(roster.online()[0].name, "DataError", anew=True)
        roster.refresh(grid)
        assert known(roster) == {name: "z"}
    assert "z1 now calls itself z2" in caplog.text
    assert sorted(roster.clients) == ["z1", "z2", "z3"]


@pytest.mark.parametrize("said", ["a", "own", ""])
def test_a_name_is_free_once_its_owner_is_connected_whatever_that_one_says(
    said: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    grid = OwnGrid({})
    thief = add_keyed(grid, tmp_path, "a", "b")
    roster = Roster(ONE)
    wait_for_clients(roster, grid)
    roster.clients["a"].trained_in.extend([1, 2, 3])
    add_keyed(grid, tmp_path, said or "a", "a")
    if not said:
        (tmp_path / "a.npz").write_bytes(b"unreadable")
    for _ in range(3):
        roster.refresh(grid)
    assert known(roster) == ({said: "a"} if said else {})
    assert roster.clients["a"].trained_in == []
    assert thief in roster.refusals
    assert "another site's key: start it with --name b. It trained in 3 rounds" in caplog.text


def test_the_keys_of_a_checkpoint_keep_their_names(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    roster = Roster(ONE)
    wait_for_clients(roster, keyed_grid(tmp_path, beta="b"))
    resumed = Roster(ONE)
    resumed.adopt_state(roster.to_state())
    resumed.refresh(keyed_grid(tmp_path, b="a"))
    assert known(resumed) == {}
    assert "key 'a' calls itself 'b', but that is the name of another site's" in caplog.text


@pytest.mark.parametrize("name", ["Ward-1", "WARD-1", "\uff57ard-1"])
def test_names_that_look_alike_are_one(name: str, tmp_path: Path) -> None:
    roster = Roster(ONE)
    grid = OwnGrid({})
    add_keyed(grid, tmp_path, "ward-1", "ward-1")
    wait_for_clients(roster, grid)
    add_keyed(grid, tmp_path, name, "b")
    roster.refresh(grid)
    assert known(roster) == {"ward-1": "ward-1"}
