"""Names that look like another client's: the second is refused by name, and told what to do."""

import logging
from pathlib import Path

import pytest

from pfedgp_core.errors import RunFailedError
from server.clients.roster import Roster
from server.clients.similar_classes import similar_classes
from server.clients.waiting import wait_for_clients
from tests.own_sites import OWN, OwnGrid, archive, rows_of
from tests.server.clients.test_class_counts import hello
from tests.wire_parts import greets_with

TWO = OWN.replace(clients_per_round=2, min_clients=2, wait_timeout=0.5)


def grid_of(tmp_path: Path, second: str) -> OwnGrid:
    """Two sites; the second one, whatever it is called here, greets with the given name."""
    sites = {"ward-3": archive(tmp_path / "a.npz", rows_of(0, 1)), "z": archive(tmp_path / "z.npz", rows_of(1, 2))}
    return OwnGrid(sites, greets_with(1, name=second))


@pytest.mark.parametrize("second", ["w\u0430rd-3", "Ward-3", "WARD-3", "\uff57ard-3"])
def test_of_two_names_that_look_alike_one_is_refused(
    second: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(RunFailedError, match="1 of 2 clients are ready"):
        wait_for_clients(Roster(TWO), grid_of(tmp_path, second))
    said = next(r.getMessage() for r in caplog.records if r.getMessage().startswith("refused: "))
    assert "which looks like" in said
    assert "give it another client-name" in said
    assert second.isascii() or "\\u0430" in said or "\\uff57" in said


@pytest.mark.parametrize("second", ["ward-3 ", "ward-3\u3164", "ward\u200b-3", "ward-3\ufe00"])
def test_a_name_with_something_invisible_is_refused(
    second: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(RunFailedError, match="1 of 2 clients are ready"):
        wait_for_clients(Roster(TWO), grid_of(tmp_path, second))
    assert "hello with a client name that has" in caplog.text


def test_a_key_of_that_name_takes_it_from_a_lookalike_that_came_first(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    grid = OwnGrid({}, greets_with(0, name="w\u0430rd-3"))
    grid.keys[grid.add_site("z", archive(tmp_path / "z.npz", rows_of(1, 2)))] = "z"
    roster = Roster(OWN.replace(clients_per_round=1, min_clients=1, min_results=1))
    wait_for_clients(roster, grid)
    grid.tamper = None
    grid.keys[grid.add_site("ward-3", archive(tmp_path / "a.npz", rows_of(1, 2)))] = "ward-3"
    for _ in range(2):
        roster.refresh(grid)
    assert [client.name for client in roster.online()] == ["ward-3", "z"]
    assert (
        "key 'z' calls itself 'w\u0430rd-3' (w\\u0430rd-3), but that is the name of another site's key" in caplog.text
    )


def test_usual_names_take_part(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "pfedgp")
    roster = Roster(TWO.replace(wait_timeout=30.0))
    wait_for_clients(roster, grid_of(tmp_path, "ward-4"))
    assert [client.name for client in roster.online()] == ["ward-3", "ward-4"]


def _with_classes(name: str, *classes: str) -> object:
    from dataclasses import replace

    return replace(hello(name, 1, 10), class_names=classes, classes=(0,))


def test_classes_that_look_alike_are_named_with_what_they_are_made_of() -> None:
    said = similar_classes([_with_classes("a", "cat", "dog"), _with_classes("b", "c\u0430t")])
    assert "'cat' (a) looks like 'c\\u0430t' (b)" in said


def test_classes_that_one_site_tells_apart_are_not_named() -> None:
    assert similar_classes([_with_classes("a", "O", "0"), _with_classes("b", "l", "1")]) == ""
    assert similar_classes([_with_classes("a", "cat", "c\u0430t")]) == ""
