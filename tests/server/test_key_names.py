"""Whose name a site uses: that of its own key, another one, or one that belongs to another site."""

from pathlib import Path

import pytest

from pfedgp_core.config import Settings
from server.roster import Roster
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
    roster.wait(keyed_grid(tmp_path, a="a", ward="client-1"))
    assert known(roster) == {"a": "a", "ward": "client-1"}


def test_a_site_cannot_take_the_name_of_another_sites_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("server.roster.BROKEN_RETRY_AFTER", 0.0)
    grid = OwnGrid({})
    owner = add_keyed(grid, tmp_path, "a", "a")
    roster = Roster(ONE)
    roster.wait(grid)
    context = grid.contexts.pop(owner)
    roster.refresh(grid)

    thief = add_keyed(grid, tmp_path, "a", "b")
    for _ in range(3):
        roster.refresh(grid)
    assert known(roster) == {} and list(roster.refusals) == [thief]
    assert caplog.text.count("key 'b' calls itself 'a', but that is the name of another site's key") == 1

    grid.contexts[owner] = context
    roster.refresh(grid)
    assert known(roster) == {"a": "a"} and roster.clients["a"].node_id == owner
    grid.contexts[thief].node_config["client-name"] = "b"
    grid.names[thief] = "b"
    roster.refresh(grid)
    assert known(roster) == {"a": "a", "b": "b"}


def test_the_owner_of_a_name_gets_it_back(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    grid = OwnGrid({})
    thief = add_keyed(grid, tmp_path, "a", "b")
    roster = Roster(ONE)
    roster.wait(grid)
    assert known(roster) == {"a": "b"}
    owner = add_keyed(grid, tmp_path, "a", "a")
    roster.refresh(grid)
    roster.refresh(grid)
    assert known(roster) == {"a": "a"} and roster.clients["a"].node_id == owner
    assert list(roster.refusals) == [thief] and "key 'b' calls itself 'a'" in caplog.text


def test_a_name_stays_with_its_key_over_a_resume(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    roster = Roster(ONE)
    roster.wait(keyed_grid(tmp_path, ward="client-1"))
    resumed = Roster(ONE.replace(min_results=1))
    resumed.adopt_state(roster.to_state())
    grid = keyed_grid(tmp_path, ward="client-2")
    resumed.refresh(grid)
    assert known(resumed) == {} and "in this run that is the site with the key 'client-1'" in caplog.text
    add_keyed(grid, tmp_path, "ward", "client-1")
    resumed.refresh(grid)
    assert known(resumed) == {"ward": "client-1"}


def test_checkpoints_without_keys_and_nodes_without_keys(tmp_path: Path) -> None:
    grid = OwnGrid({"ward": archive(tmp_path / "w.npz", rows_of(0, 1))})
    roster = Roster(ONE)
    roster.wait(grid)
    assert known(roster) == {"ward": ""}
    state = roster.to_state()
    for client in state["clients"]:
        del client["key"]
    resumed = Roster(ONE)
    resumed.adopt_state(state)
    resumed.refresh(grid)
    assert known(resumed) == {"ward": ""}
