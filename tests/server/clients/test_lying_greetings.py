"""A greeting with another site's name, or of another kind, does not end a run before round 1."""

from pathlib import Path
from typing import Any

import pytest

from client.client_app import app
from server.clients import roster as roster_module
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from tests.fakegrid import FakeGrid
from tests.federation_run import SMALL
from tests.own_sites import OWN, OwnGrid, archive, rows_of, three_image_sites
from tests.wire_parts import greets_with

LIAR = "ward-d"
LIES: dict[str, dict[str, Any]] = {
    "another site's name": {"name": "ward-a"},
    "a simulation": {"partition_hash": "0" * 64},
    "a simulation and another site's name": {"partition_hash": "0" * 64, "name": "ward-a"},
    "another shape": {"input_shape": [1, 9, 9]},
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("first", [True, False])
def test_three_sites_start_whatever_a_fourth_says(
    lie: str, first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(roster_module, "RETRY_AFTER", 0.1)
    sites = three_image_sites(tmp_path) | {LIAR: archive(tmp_path / "d.npz", rows_of(0, 9))}
    grid = OwnGrid(sites, greets_with(sorted(sites).index(LIAR), **LIES[lie]))
    by_name = {name: node for node, name in grid.names.items()}
    honest = {by_name[name] for name in sites if name != LIAR}
    roster = Roster(OWN)
    # Who greets first has the name: answers that come together are taken in the order of the node ids.
    grid.offline = {grid.index(node) for node in (honest if first else {by_name[LIAR]})}
    roster.refresh(grid)
    grid.offline = set()
    wait_for_clients(roster, grid)
    assert {"ward-b", "ward-c"} <= {client.name for client in roster.online() if client.node_id in honest}
    assert any("ward-a" in line or LIAR in line for line in caplog.messages)


def test_a_node_too_many_of_a_simulation_is_put_off_by_name(caplog: pytest.LogCaptureFixture) -> None:
    grid = FakeGrid(app, 5)
    grid.add_node({"partition-id": 2, "num-partitions": 5})
    roster = Roster(SMALL)
    wait_for_clients(roster, grid)
    assert len(roster.online()) == 5
    assert "cannot take part for now: Two connected clients are named 'client-02'" in caplog.text
