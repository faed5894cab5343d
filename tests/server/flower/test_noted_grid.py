"""A site that cannot take part is told so, and the run's folder keeps the words."""

from pathlib import Path

import pytest

from client import notices
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from server.flower.noted_grid import NotedGrid
from server.run.refusals import read_refusals
from tests.federation_run import SMALL, federate
from tests.own_sites import OWN, OwnGrid, in_other_units, rows_of, table


def test_what_a_refused_site_is_told_is_kept(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(notices, "_said", {})
    sites: dict[str, Path | str] = {
        f"ward-{i}": table(tmp_path / f"{i}.csv", rows_of(0, 1, 2, of=4, part=i)) for i in range(4)
    }
    in_other_units(tmp_path / "3.csv", 9)
    grid = OwnGrid(sites)
    roster, noted = Roster(OWN.replace(min_clients=3)), NotedGrid(grid, tmp_path)
    wait_for_clients(roster, noted)
    roster.refresh(noted)
    (told,), damaged = read_refusals(tmp_path)
    assert (told.node, told.lasting, damaged) == (str(next(n for n, s in grid.names.items() if s == "ward-3")), True, 0)
    assert told.words == next(r.getMessage() for r in caplog.records if "refused: ward-3" in r.getMessage())


@pytest.mark.slow
def test_a_run_that_refuses_nobody_has_no_such_file(tmp_path: Path) -> None:
    federate(SMALL.replace(rounds=1), tmp_path / "run", deployed=True)
    assert not (tmp_path / "run/refusals.jsonl").exists()
