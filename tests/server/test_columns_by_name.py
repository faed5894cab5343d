"""Tables whose columns stand in another order, or under other names: by name in a run, and never mixed in silence."""

import json
import logging
from pathlib import Path
from typing import Any

import pytest

from client.own_site import own_site
from client.source import Source
from pfedgp_core.config import Settings
from pfedgp_core.data.column_names import HASHED
from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.names import CONFIG, SPEC
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from server.run.model_file import load_model
from tests.federation_run import QUICK, Run, start
from tests.ordered_tables import NAMES, ordered_table
from tests.own_sites import OwnGrid
from tests.wire_parts import greets_with

OTHER = ("bmi", "age", "crp")
SETTINGS = Settings(
    network="mlp", clients_per_round=3, min_clients=3, rounds=3, evaluate_every=2, wait_timeout=20.0, gp=QUICK
)
KEY = "0123456789abcdef0123456789abcdef"


def sites(root: Path, *orders: tuple[str, ...]) -> dict[str, Path | str]:
    root.mkdir(exist_ok=True)
    return {f"ward-{i}": ordered_table(root / f"{i}.csv", i, order) for i, order in enumerate(orders)}


def run(root: Path, *orders: tuple[str, ...], **node_config: Any) -> tuple[Run, OwnGrid]:
    grid = OwnGrid(sites(root, *orders), **node_config)
    return start(grid, SETTINGS, root / "run"), grid


@pytest.fixture
def one_order(tmp_path: Path) -> Run:
    return run(tmp_path / "same", NAMES, NAMES, NAMES)[0]


@pytest.mark.slow
def test_a_site_in_another_order_gives_the_bits_of_one_order(
    tmp_path: Path, one_order: Run, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    mixed, _ = run(tmp_path / "mixed", NAMES, OTHER, NAMES)
    assert mixed.model("final").tobytes() == one_order.model("final").tobytes()
    assert mixed.lasting == one_order.lasting
    meta, same = (load_model(r.path / "final")[1] for r in (mixed, one_order))
    assert meta == same
    assert meta["columns"] == list(NAMES)
    assert json.loads((mixed.path / "final" / "meta.json").read_text())["columns"] == list(NAMES)
    assert "columns in another order, taken by name: ward-1" in caplog.text


@pytest.mark.slow
def test_the_order_of_most_sites_is_that_of_the_model(tmp_path: Path) -> None:
    most, _ = run(tmp_path / "most", NAMES, OTHER, OTHER)
    assert load_model(most.path / "final")[1]["columns"] == list(OTHER)


@pytest.mark.slow
def test_hashed_names_give_the_same_bits_and_no_name_leaves_a_site(tmp_path: Path, one_order: Run) -> None:
    key = tmp_path / "key"
    key.write_text(KEY + "\n")
    hashed, grid = run(tmp_path / "hashed", NAMES, OTHER, NAMES, **{"column-key": str(key)})
    assert hashed.model("final").tobytes() == one_order.model("final").tobytes()
    columns = load_model(hashed.path / "final")[1]["columns"]
    assert len(columns) == 3
    assert all(name.startswith(HASHED) for name in columns)
    told = [str(dict(m.content.config_records[CONFIG])) for m in grid.sent if CONFIG in m.content.config_records]
    assert any(columns[0] in text for text in told)
    assert not [text for text in told if "crp" in text or "bmi" in text]
    assert "crp" not in "".join(p.read_text(errors="replace") for p in hashed.path.rglob("*") if p.is_file())


def test_other_names_are_refused_with_those_of_both_sides(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    there = sites(tmp_path, NAMES, NAMES, NAMES)
    names = {"age": "alter", "crp": "CRP", "bmi": "BMI"}
    there["ward-3"] = ordered_table(tmp_path / "3.csv", 3, names=names)
    grid, roster = OwnGrid(there), Roster(SETTINGS)
    wait_for_clients(roster, grid)
    (reason,) = roster.refusals.values()
    assert "lacks the columns 'age', 'crp', 'bmi' and has the columns 'alter', 'CRP', 'BMI'" in reason
    assert "did you mean 'crp' for 'CRP', 'bmi' for 'BMI'?" in reason
    roster.refresh(grid)
    assert "the server says: refused: ward-3 lacks the columns 'age'" in caplog.text


def test_two_sites_with_other_names_do_not_begin(tmp_path: Path) -> None:
    there = sites(tmp_path, NAMES)
    there["ward-1"] = ordered_table(tmp_path / "1.csv", 1, names={"crp": "CRP"})
    with pytest.raises(RunFailedError, match="ward-1 lacks the column 'crp' and has the column 'CRP'"):
        start(OwnGrid(there), SETTINGS.replace(clients_per_round=2, min_clients=2), tmp_path / "run")


def test_a_site_that_comes_later_is_held_against_the_names(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    grid, roster = OwnGrid(sites(tmp_path, NAMES, NAMES, NAMES)), Roster(SETTINGS)
    wait_for_clients(roster, grid)
    roster.freeze()
    good = grid.add_site("late", ordered_table(tmp_path / "late.csv", 7, OTHER))
    bad = grid.add_site("other", ordered_table(tmp_path / "other.csv", 8, names={"bmi": "weight"}))
    roster.refresh(grid)
    assert roster.by_node()[good].hello.columns == NAMES
    moments = own_site(Source.of(SETTINGS, grid.contexts[good].node_config)).mean
    assert roster.by_node()[good].hello.mean == (moments[1], moments[2], moments[0])
    assert "'weight'" in roster.refusals[bad]
    assert "this site cannot take part: this site's table has other columns than the federation" in caplog.text


@pytest.mark.slow
@pytest.mark.parametrize("form", ["hidden", "former version"])
def test_a_site_without_names_goes_by_position_and_is_named(
    form: str, tmp_path: Path, one_order: Run, caplog: pytest.LogCaptureFixture
) -> None:
    hidden = {"column-names": "none"} if form == "hidden" else {}
    there = sites(tmp_path / "same", NAMES, NAMES)
    grid = OwnGrid(there, tamper=None if hidden else greets_with(0, columns=[]))
    grid.add_site("ward-2", tmp_path / "same" / "2.csv", **hidden)
    again = start(grid, SETTINGS, tmp_path / "again")
    assert again.model("final").tobytes() == one_order.model("final").tobytes()
    assert f"no names of columns from ward-{2 if hidden else 0}" in caplog.text


def test_a_site_that_hides_names_in_another_order_reads_it_in_its_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    grid, roster = OwnGrid(sites(tmp_path, NAMES, NAMES, NAMES)), Roster(SETTINGS)
    wait_for_clients(roster, grid)
    roster.freeze()
    grid.add_site("late", ordered_table(tmp_path / "late.csv", 7, OTHER), **{"column-names": "none"})
    roster.refresh(grid)
    assert "taken by position although the federation has them in another order" in caplog.text


def test_a_former_checkpoint_without_names_goes_on_by_position(tmp_path: Path) -> None:
    grid, roster = OwnGrid(sites(tmp_path, NAMES, NAMES, NAMES)), Roster(SETTINGS)
    wait_for_clients(roster, grid)
    state = roster.to_state()
    spec = json.loads(state["spec"])
    del spec["columns"]
    presented = json.loads(state["presented"])
    for greeting in (presented["same"], *presented["clients"]):
        greeting.pop("columns", None)
    resumed = Roster(SETTINGS)
    resumed.adopt_state(state | {"spec": json.dumps(spec), "presented": json.dumps(presented)})
    resumed.refresh(grid)
    assert len(resumed.online()) == 3
    assert resumed.spec.columns == ()
    assert SPEC in grid.sent[-1].content.config_records[CONFIG]
