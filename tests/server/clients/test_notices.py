"""A refused site is told in the words of the server's console, and so is one whose reply was not used."""

import json
import re
from pathlib import Path

import pytest

from client import notices
from client.notices import NOTICE_FILE
from pfedgp_core.wire.names import NOTICE, WORDS
from server.clients.notices import Notices
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from tests.own_sites import OWN, OwnGrid, in_other_units, rows_of, table


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "_said", {})


@pytest.mark.parametrize(
    ("policy", "said", "read"),
    [
        ("plain", "column 'p9'", "column 'p9'"),
        ("hashed", "column 'hmac-sha256:", "column 'p9'"),
        ("none", "column 10 of the table", "column 'p9' (10 of the table)"),
    ],
)
def test_a_site_on_another_scale_reads_the_name_of_its_column(
    policy: str, said: str, read: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    sites: dict[str, Path | str] = {
        f"ward-{i}": table(tmp_path / f"{i}.csv", rows_of(0, 1, 2, of=4, part=i)) for i in range(4)
    }
    in_other_units(tmp_path / "3.csv", 9)
    (tmp_path / "key").write_text("a key of more than sixteen bytes")
    policies = {"hashed": {"column-key": str(tmp_path / "key")}, "none": {"column-names": "none"}}
    grid = OwnGrid(sites, **policies.get(policy, {}))
    node = next(n for n, name in grid.names.items() if name == "ward-3")
    grid.contexts[node].node_config["state"] = str(tmp_path / "state")
    (tmp_path / "state").mkdir()
    roster = Roster(OWN.replace(min_clients=3))
    wait_for_clients(roster, grid)
    roster.refresh(grid)
    console = next(r.getMessage() for r in caplog.records if "refused: ward-3" in r.getMessage())
    assert said in console
    kept = json.loads((tmp_path / "state" / NOTICE_FILE).read_text())
    assert kept["words"] == re.sub("column '.*?'|column 10 of the table", read, console)
    assert kept["refused"] is True
    told = [m for m in grid.sent if m.metadata.message_type == NOTICE]
    assert [m.metadata.dst_node_id for m in told] == [node]  # once, and nobody else


def test_a_reply_that_is_not_used_is_told(tmp_path: Path) -> None:
    sites: dict[str, Path | str] = {
        f"ward-{i}": table(tmp_path / f"{i}.csv", rows_of(0, 1, 2, of=4, part=i)) for i in range(3)
    }
    grid = OwnGrid(sites)
    roster = Roster(OWN)
    wait_for_clients(roster, grid)
    roster.tell("ward-1", "a reply of ward-1 is not used: the shared vector holds NaN or infinity")
    roster.tell("nobody", "words")
    roster.refresh(grid)
    told = [m for m in grid.sent if m.metadata.message_type == NOTICE]
    assert [grid.names[m.metadata.dst_node_id] for m in told] == ["ward-1"]
    assert "not used: the shared vector holds NaN" in str(told[0].content.config_records["config"][WORDS])


def test_words_wait_for_no_node_that_left_and_are_bounded() -> None:
    grid, waiting = OwnGrid({}), Notices()
    for node in range(5000):
        waiting.tell(node, "words", refused=True)
    waiting.send(grid, {1, 2, 4999})
    assert sorted(m.metadata.dst_node_id for m in grid.sent) == [1, 2]
    waiting.send(grid, {3})
    assert len(grid.sent) == 2
