"""Where a run ends before round 1 because the sites' data do not go together, each site reads of its own alone."""

from collections.abc import Iterable
from pathlib import Path

import pytest
from flwr.app import Message

from client.client_app import app as client_app
from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.hello import Hello
from pfedgp_core.wire.names import NOTICE, REFUSED, WORDS
from server.clients.columns import refuse_other_columns
from server.clients.notices import tell_the_end
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from tests.fakegrid import FakeGrid
from tests.federation_run import SMALL
from tests.own_sites import OWN, OwnGrid, archive, rows_of, table


def with_columns(name: str, *columns: str) -> Hello:
    width = len(columns)
    moments = {"mean": (0.0,) * width, "std": (1.0,) * width, "columns": columns, "input_shape": (width,)}
    return Hello(
        name, (0, 1), ("a", "b"), n_train=9, n_validation=9, n_test=9, versions={}, partition_hash="", **moments
    )


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
    assert told["ward-1"][WORDS].startswith("the run has ended before round 1: ward-1 has the column 'temp' beside")
    assert ended.value.told.keys() == {"ward-1"}
    assert told["ward-0"][WORDS] == "the run has ended before round 1: its operator reads why."
    assert [told[name][REFUSED] for name in ("ward-0", "ward-1")] == [False, True]


def test_a_run_that_ends_waits_shortly_for_sites_that_do_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("server.clients.notices.LAST_WORDS", 0.1)
    grid = FakeGrid(client_app, 1)
    (node,) = grid.contexts
    grid.offline.add(0)
    tell_the_end(grid, {node: "ward"}, RunFailedError("ward lacks a column.", {"ward": "ward lacks a column."}))
    assert len(grid.sent) == 1


@pytest.mark.parametrize(("name", "concerned"), [("ward", True), ("the", False)])
def test_a_site_whose_name_is_a_word_is_not_concerned_by_that(name: str, concerned: bool) -> None:
    grid = FakeGrid(client_app, 1)
    (node,) = grid.contexts
    words = "ward has the column 'hiv' beside the expected ones."
    tell_the_end(grid, {node: name}, RunFailedError(words, {"ward": words}))
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


def test_each_site_with_other_columns_reads_of_its_own(tmp_path: Path) -> None:
    hellos = [with_columns(f"ward-{i}", "p0", "p1", *extra) for i, extra in enumerate([(), (), ("hiv",), ("sex",)])]
    with pytest.raises(RunFailedError) as ended:
        refuse_other_columns(hellos)
    assert ended.value.told.keys() == {"ward-2", "ward-3"}
    assert ["hiv" in words for words in ended.value.told.values()] == [True, False]


def test_it_waits_until_sites_have_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flower drops what an ended run has sent."""
    grid, pulled = FakeGrid(client_app, 1), list[str]()
    pull = grid.pull_messages
    monkeypatch.setattr(grid, "pull_messages", lambda ids: (pulled.extend(ids), pull(ids))[1])
    (node,) = grid.contexts
    tell_the_end(grid, {node: "ward"}, RunFailedError("ward lacks a column."))
    assert pulled == [grid.sent[0].metadata.message_id]


def test_a_grid_that_fails_then_leaves_the_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sites: dict[str, Path | str] = {
        "ward-1": table(tmp_path / "1.csv", rows_of(0, 1, of=2, part=0)),
        "ward-2": archive(tmp_path / "2.npz", rows_of(0, 1, of=2, part=1)),
    }
    grid = OwnGrid(sites)
    push = grid.push_messages

    def failing(messages: Iterable[Message]) -> list[str]:
        listed = list(messages)
        if any(message.metadata.message_type == NOTICE for message in listed):
            raise ValueError("closed")
        return push(listed)

    monkeypatch.setattr(grid, "push_messages", failing)
    with pytest.raises(RunFailedError, match="different shapes"):
        wait_for_clients(Roster(OWN.replace(min_clients=2)), grid)


def test_clients_of_a_simulation_are_told_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    grid, roster = FakeGrid(client_app, SMALL.clients), Roster(SMALL)
    monkeypatch.setattr(roster, "freeze", lambda: (_ for _ in ()).throw(RunFailedError("no")))
    with pytest.raises(RunFailedError, match=r"^no$"):
        wait_for_clients(roster, grid)
    assert not [m for m in grid.sent if m.metadata.message_type == NOTICE]
