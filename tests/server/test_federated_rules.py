"""Sites that agree on rules for their columns before round 1: as pooling their tables by hand, in any order."""

import itertools
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flwr.app import Context, Message, RecordDict

from client.client_app import app as client_app
from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import dataset_of
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import RunFailedError
from pfedgp_core.wire.names import CONFIG, HELLO
from server.clients.roster import Roster
from server.clients.waiting import wait_for_clients
from server.run.model_file import load_model
from server.server_app import serve
from tests.fakegrid import FakeGrid, Tamper
from tests.federation_run import start
from tests.own_sites import OwnGrid, archive, rows_of
from tests.ward_tables import FEDERATED, rules_by_hand, three_wards, ward, write

pytestmark = pytest.mark.usefixtures("heard_client")

INPUTS = ["age", "crp", "crp missing", "stage=I", "stage=II", "stage=III", "stage=IV", "smoker"]
BY_HAND = FEDERATED.replace(column_rules=rules_by_hand(), column_rules_from="file")


@pytest.fixture
def heard_client(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the log have what the sites say to their own operators."""
    monkeypatch.setattr(logging.getLogger("pfedgp.client"), "propagate", True)
    monkeypatch.setattr("client.messages._log_to_site", lambda: None)


def gathered(grid: OwnGrid, settings: Settings = FEDERATED) -> tuple[Roster, DataSpec]:
    roster = Roster(settings)
    wait_for_clients(roster, grid)
    return roster, roster.freeze()


def tells(client: int, **changes: Any) -> Tamper:
    """A tamper by which one client lies about its columns; functions get what it would tell."""

    def tamper(request: Message, index: int, reply: Message) -> Message:
        if request.metadata.message_type == HELLO and index == client:
            hello = json.loads(str(reply.content[CONFIG]["hello"]))
            if "summary" in hello:
                made = {key: value(hello[key]) if callable(value) else value for key, value in changes.items()}
                reply.content[CONFIG]["hello"] = json.dumps(hello | made)
        return reply

    return tamper


def in_summary(change: Callable[[list[list[Any]]], Any]) -> Callable[[str], str]:
    def changed(summary: str) -> str:
        columns = json.loads(summary)
        change(columns)
        return json.dumps(columns)

    return changed


@pytest.mark.slow
def test_the_run_has_the_bits_of_one_with_rules_made_by_hand(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    federated = start(OwnGrid(three_wards(tmp_path)), FEDERATED, tmp_path / "federated")
    by_hand = start(OwnGrid(three_wards(tmp_path)), BY_HAND, tmp_path / "run")
    assert federated.model("final").tobytes() == by_hand.model("final").tobytes()
    assert federated.lasting == by_hand.lasting
    assert "the sites agree on rules for 4 columns: 8 inputs" in caplog.text
    meta = load_model(federated.path / "best")[1]
    assert meta["columns"] == INPUTS
    assert meta["settings"]["column-rules"] == rules_by_hand()
    assert meta["settings"]["column-rules-from"] == "file"
    assert 'column-rules-from = "federated"' in (federated.path / "config.toml").read_text()


@pytest.mark.slow
def test_a_resumed_run_keeps_its_rules(tmp_path: Path) -> None:
    sites = three_wards(tmp_path)
    whole = start(OwnGrid(sites), FEDERATED.replace(rounds=4), tmp_path / "whole")
    begun = start(OwnGrid(sites), FEDERATED, tmp_path / "run")
    grid = OwnGrid(sites)
    serve(grid, Context(2, 1, {}, RecordDict(), {"resume": str(begun.path), "rounds": 4}), grid.engine)
    assert begun.model("final").tobytes() == whole.model("final").tobytes()
    asked = [m for m in grid.sent if m.metadata.message_type == HELLO]
    assert len(asked) == 3  # the rules are known: nobody tells of columns again


def test_any_order_of_greetings_gives_the_same_rules(tmp_path: Path) -> None:
    told = set()
    for order in itertools.permutations(range(3)):
        grid, roster = OwnGrid(three_wards(tmp_path)), Roster(FEDERATED)
        for i in range(3):
            grid.offline = set(order[i + 1 :])
            roster.refresh(grid)
            roster.refresh(grid)
        grid.offline = set()
        wait_for_clients(roster, grid)
        told.add(roster.freeze().to_json())
    assert len(told) == 1
    assert DataSpec.from_json(told.pop()).rules == rules_by_hand()


def test_nothing_of_few_rows_is_sent(tmp_path: Path) -> None:
    grid = OwnGrid(three_wards(tmp_path))
    heard: list[str] = []

    def listen(_request: Message, _index: int, reply: Message) -> Message:
        heard.append(json.dumps(dict(reply.content[CONFIG]), ensure_ascii=False))
        return reply

    grid.tamper = listen
    gathered(grid)
    assert len(heard) == 6
    assert not [text for text in heard if "rare-" in text]


@pytest.mark.slow
def test_a_simulation_agrees_on_the_same_rules(tmp_path: Path) -> None:
    rows = [{"ward": str(i), **row} for i in (2, 0, 1) for row in ward(i)]
    settings = FEDERATED.replace(
        dataset="own-data",
        data_root=str(write(tmp_path / "all.csv", rows)),
        partition="natural",
        partition_by="ward",
        clients=3,
        min_clients=0,
    )
    assert dataset_of(settings).rules == rules_by_hand()
    run = start(FakeGrid(client_app, 3), settings, tmp_path / "run")
    meta = load_model(run.path / "best")[1]
    assert meta["clients"] == ["ward-0", "ward-1", "ward-2"]
    assert meta["columns"] == INPUTS
    assert meta["settings"]["column-rules"] == rules_by_hand()


def test_in_a_simulation_sites_that_do_not_train_have_no_say(tmp_path: Path) -> None:
    rows = [{"ward": str(i), **row} for i in range(3) for row in ward(i)]
    settings = Settings(
        dataset="own-data",
        data_root=str(write(tmp_path / "all.csv", rows)),
        partition="natural",
        partition_by="ward",
        clients=3,
        clients_per_round=2,
        unseen_clients=1,
        column_rules_from="federated",
    )
    assert '"I", "II", "III"]' in dataset_of(settings).rules  # ward 2 alone has IV


def test_who_comes_later_with_another_text_has_it_as_unknown_and_reads_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    grid = OwnGrid(three_wards(tmp_path))
    roster, spec = gathered(grid)
    late = grid.add_site("late", write(tmp_path / "late.csv", ward(7, ("II", "V"))))
    roster.refresh(grid)
    roster.refresh(grid)
    assert roster.by_node()[late].hello.columns == spec.columns
    assert "The column 'stage' holds 'V', 'rare-7' in 21 of 40 rows (the first is row 1), which the " in caplog.text
    assert "federation does not know: taken as unknown." in caplog.text


LIES: dict[str, tuple[dict[str, Any], str]] = {
    "no number": ({"mean": lambda mean: [float("nan"), *mean[1:]]}, "malformed hello"),
    "a huge number": ({"mean": lambda mean: [1e300, *mean[1:]]}, "values beyond 1e+30 in column 'age'"),
    "another unit": ({"mean": lambda mean: [mean[0] * 1e6, *mean[1:]]}, "another scale than the other sites'"),
    "a million texts": (
        {"summary": in_summary(lambda c: c[2].__setitem__(3, {f"v{i}": 0 for i in range(10**6)}))},
        "a column with 1,000,000 texts, more than 50",
    ),
    "signs that steer a terminal": (
        {"summary": in_summary(lambda c: c[2].__setitem__(3, {"I\x1b]0;x\x07": 10}))},
        "a column with a text that has the invisible character",
    ),
    "more rows than there are": (
        {"summary": in_summary(lambda c: c[0].__setitem__(1, 10**9))},
        "a column with other numbers of rows than the 40 of its table",
    ),
    "another kind": (
        {"summary": in_summary(lambda c: c.__setitem__(2, ["number", 40, 0, {}]))},
        "numbers in the column 'stage'",
    ),
    "a text that grows where it is compared": (
        {"summary": in_summary(lambda c: c[2].__setitem__(3, {"\u0958" * 200: 10}))},
        "a column with a text that is not written as texts are compared",
    ),
    "nothing": ({"summary": ""}, "sends no summary of its columns"),
    "no rows, and what is in them": (
        {"summary": in_summary(lambda c: c.__setitem__(3, ["boolean", 0, 40, {"yes": 0}]))},
        "a column whose kind does not go with its number of values",
    ),
    "a part of a simulation": ({"partition_hash": "x", "summary": "[]"}, "hello of a simulation with a summary"),
}


@pytest.mark.parametrize("lie", LIES)
def test_a_site_that_lies_is_refused_by_name_and_changes_nothing(
    lie: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    sites = three_wards(tmp_path) | {"ward-x": write(tmp_path / "x.csv", ward(3))}
    changes, reason = LIES[lie]
    grid = OwnGrid(sites, tells(3, **changes))
    grid.keys = dict(grid.names)
    roster, spec = gathered(grid)
    assert spec.rules == rules_by_hand()
    assert [client.name for client in roster.online()] == ["ward-0", "ward-1", "ward-2"]
    assert [line for line in caplog.messages if "ward-x" in line and reason in line]


def test_a_site_without_a_table_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sites = three_wards(tmp_path) | {"ward-x": archive(tmp_path / "x.npz", rows_of(0, 1))}
    _, spec = gathered(OwnGrid(sites))
    assert spec.rules == rules_by_hand()
    assert "refused: ward-x sends no summary of its columns, and sites agree on rules by them" in caplog.text


@pytest.mark.parametrize("kept_back", [{"column-names": "none"}, {"column-key": "KEY"}])
def test_a_site_that_keeps_names_back_tells_nothing(
    kept_back: dict[str, str], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "key").write_text("0123456789abcdef0123456789abcdef")
    given = {key: value.replace("KEY", str(tmp_path / "key")) for key, value in kept_back.items()}
    grid = OwnGrid(three_wards(tmp_path))
    node = grid.add_site("ward-x", write(tmp_path / "x.csv", ward(3)), **given)
    grid.keys = {node: "ward-x"}
    gathered(grid)
    assert "this site keeps the names back: leave out column-key and column-names" in caplog.text
    assert "ward-x cannot take part: ConfigError" in caplog.text


@pytest.mark.parametrize("wards", [2, 4])
def test_sites_of_which_half_lack_a_column_agree_on_nothing_and_are_told_so(tmp_path: Path, wards: int) -> None:
    whole, half = [ward(i) for i in range(wards // 2)], [ward(i) for i in range(wards // 2, wards)]
    short = [[{key: text for key, text in row.items() if key != "stage"} for row in rows] for rows in half]
    sites = {f"ward-{i}": write(tmp_path / f"{i}.csv", rows) for i, rows in enumerate([*whole, *short])}
    settings = FEDERATED.replace(min_clients=wards, clients_per_round=wards, wait_timeout=5.0)
    with pytest.raises(RunFailedError, match=r"different columns: ward-\d (lacks|has) the column 'stage'.*--drop"):
        gathered(OwnGrid(sites), settings)


def test_two_sites_that_disagree_do_not_begin(tmp_path: Path) -> None:
    numbers = [row | {"stage": str(i)} for i, row in enumerate(ward(1))]
    sites: dict[str, Path | str] = {
        "a": write(tmp_path / "a.csv", ward(0)),
        "b": write(tmp_path / "b.csv", numbers),
    }
    with pytest.raises(RunFailedError, match="do not agree on the column 'stage' \\(a: texts, b: numbers\\)"):
        start(OwnGrid(sites), FEDERATED.replace(clients_per_round=2, min_clients=2), tmp_path / "run")


def test_rules_of_the_settings_come_first_and_leave_their_columns_at_the_sites(tmp_path: Path) -> None:
    given = json.dumps({"stage": {"kind": "ignore"}, "crp": json.loads(rules_by_hand())["crp"] | {"low": 0}})
    grid = OwnGrid(three_wards(tmp_path))
    heard: list[dict[str, Any]] = []

    def listen(_request: Message, _index: int, reply: Message) -> Message:
        heard.append(json.loads(str(reply.content[CONFIG]["hello"])))
        return reply

    grid.tamper = listen
    _, spec = gathered(grid, FEDERATED.replace(column_rules=given))
    assert [hello["columns"] for hello in heard if "summary" in hello] == [["age", "smoker"]] * 3
    assert json.loads(spec.rules) == json.loads(rules_by_hand()) | json.loads(given)


def test_columns_that_are_no_feature_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    sites: dict[str, Path | str] = {
        f"ward-{i}": write(tmp_path / f"{i}.csv", [row | {"bed": f"B{i}{n}"} for n, row in enumerate(ward(i))])
        for i in range(3)
    }
    _, spec = gathered(OwnGrid(sites))
    assert "no feature, as their texts are too rare or too many to agree on: bed" in caplog.text
    assert list(spec.columns) == INPUTS
