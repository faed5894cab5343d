"""Room in the rules on which sites agree: who is refused for what he fills alone, and which columns do not fit."""

import json

import pytest

from pfedgp_core.column_rules import LIMIT
from pfedgp_core.data.tables.agreement import agreed_rules
from pfedgp_core.data.tables.room import crowding_columns, crowding_sites
from pfedgp_core.data.tables.summary import ColumnSummary, TableSummary

COLUMNS = [f"c{i:03}" for i in range(110)]


def table(site: str, texts: int = 2, start: str = "", length: int = 190, columns: list[str] = COLUMNS) -> TableSummary:
    """A site that has so many texts of that length in each column; those of equal `start` are the same."""
    values = {f"{start}{i:03}".ljust(length, "-"): 10 for i in range(texts)}
    return TableSummary(site, 600, {name: ColumnSummary("text", 600, 0, values=values) for name in columns})


HONEST = [table(f"ward-{i}") for i in range(4)]


def test_nobody_is_refused_where_there_is_room() -> None:
    assert crowding_sites([*HONEST, table("more", 20, "x")]) == {}
    assert crowding_columns(HONEST) == set()


def test_who_fills_the_room_is_refused_and_named_with_columns() -> None:
    refused = crowding_sites([*HONEST, table("z", 50, "z")])
    assert list(refused) == ["z"]
    assert "z tells of 1,067,000 characters of texts that most sites do not have" in refused["z"]
    assert "the most in 'c000', 'c001', and rules on which sites agree hold 1,000,000: look" in refused["z"]
    assert "or have the run give rules for them" in refused["z"]


def test_one_of_two_is_refused_too() -> None:
    assert list(crowding_sites([HONEST[0], table("z", 50, "z")])) == ["z"]


def test_some_that_tell_the_same_are_refused_until_there_is_room() -> None:
    others = [table(name, 50, "z") for name in ("x", "y")]
    assert set(crowding_sites([*HONEST, *others])) == {"x", "y"}


@pytest.mark.slow
def test_nobody_is_refused_for_what_most_sites_tell() -> None:
    alike = [table(f"ward-{i}", 50) for i in range(4)]
    odd = TableSummary("odd", 600, alike[0].columns | {"c000": ColumnSummary("text", 600, 0, values={"other": 10})})
    assert crowding_sites([*alike, odd]) == {}
    left_out = crowding_columns([*alike, odd])
    assert 0 < len(left_out) < 20
    made = agreed_rules([*alike, odd])
    assert len(made) <= LIMIT
    assert {name for name, rule in json.loads(made).items() if rule["kind"] == "ignore"} == left_out


def test_columns_that_take_the_most_go_first() -> None:
    large = table("a", 50).columns | table("a", 2, columns=["small"]).columns
    assert "small" not in crowding_columns([TableSummary("a", 600, large)])


def test_rules_of_the_settings_take_room() -> None:
    given = json.dumps({f"g{i}": {"kind": "category", "values": ["-", "v" * 190]} for i in range(4000)})
    assert len(given) < LIMIT
    assert crowding_columns([table("a", 20)]) == set()
    assert crowding_columns([table("a", 20)], given)


@pytest.mark.slow
def test_many_short_texts_of_long_names_leave_room_in_a_greeting() -> None:
    named = [f"{i:03}".ljust(150, "n") for i in range(1000)]
    tables = [table("a", 50, length=3, columns=named)]
    made = json.loads(agreed_rules(tables))
    inputs = sum(len(rule.get("values", [""])) - 1 for rule in made.values())
    assert 10_000 < inputs < 50_000
