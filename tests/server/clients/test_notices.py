"""A refused site is told in the words of the server's console, and so is one whose reply was not used."""

import json
import re
from pathlib import Path

import pytest

from client import notices
from client.client_app import app as client_app
from client.notices import NOTICE_FILE
from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.names import NOTICE, REFUSED, WORDS
from server.clients.notices import Notices, tell_the_end
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from tests.fakegrid import FakeGrid
from tests.own_sites import OWN, OwnGrid, archive, in_other_units, rows_of, table


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


def test_sites_read_why_a_run_ends_before_round_1_and_nothing_of_each_other(tmp_path: Path) -> None:
    sites: dict[str, Path | str] = {
        f"ward-{i}": table(tmp_path / f"{i}.csv", rows_of(0, 1, of=2, part=i)) for i in range(2)
    }
    path = tmp_path / "1.csv"
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([f"temp,{header}", *[f"1.5,{row}" for row in rows]]) + "\n")
    grid = OwnGrid(sites)
    with pytest.raises(RunFailedError, match="ward-1 has the column 'temp'") as ended:
        wait_for_clients(Roster(OWN.replace(min_clients=2)), grid)
    told = {
        grid.names[m.metadata.dst_node_id]: m.content.config_records["config"]
        for m in grid.sent
        if m.metadata.message_type == NOTICE
    }
    assert told["ward-1"][WORDS] == f"the run has ended before round 1: {ended.value}"
    assert told["ward-0"][WORDS].startswith("the run has ended before round 1: the sites' data do not go together")
    assert [told[name][REFUSED] for name in ("ward-0", "ward-1")] == [False, True]


def test_a_run_that_ends_waits_shortly_for_sites_that_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.clients.notices.LAST_WORDS", 0.1)
    grid = FakeGrid(client_app, 1)
    (node,) = grid.contexts
    grid.offline.add(0)
    tell_the_end(grid, {node: "ward"}, RunFailedError("ward lacks a column.", ["ward"]))
    assert len(grid.sent) == 1


@pytest.mark.parametrize(("name", "concerned"), [("ward", True), ("the", False)])
def test_a_site_whose_name_is_a_word_is_not_concerned_by_that(name: str, concerned: bool) -> None:
    grid = FakeGrid(client_app, 1)
    (node,) = grid.contexts
    tell_the_end(grid, {node: name}, RunFailedError("ward has the column 'hiv' beside the expected ones.", ["ward"]))
    told = grid.sent[0].content.config_records["config"]
    assert (told[REFUSED], "hiv" in str(told[WORDS])) == (concerned, concerned)


def test_sites_of_different_shapes_all_read_it(tmp_path: Path) -> None:
    sites: dict[str, Path | str] = {
        "ward-1": table(tmp_path / "1.csv", rows_of(0, 1, of=2, part=0)),
        "ward-2": archive(tmp_path / "2.npz", rows_of(0, 1, of=2, part=1)),
    }
    grid = OwnGrid(sites)
    with pytest.raises(RunFailedError, match="different shapes"):
        wait_for_clients(Roster(OWN.replace(min_clients=2)), grid)
    told = [m.content.config_records["config"] for m in grid.sent if m.metadata.message_type == NOTICE]
    assert [("different shapes" in str(each[WORDS]), each[REFUSED]) for each in told] == [(True, True)] * 2


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
