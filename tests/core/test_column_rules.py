"""Rules of columns: what a settings file may say, and that equal rules are equal settings."""

from pathlib import Path

import pytest

from pfedgp_core.column_rules import NO_RULES, column_rules, rules_text
from pfedgp_core.config import Settings
from pfedgp_core.errors import ConfigError
from server.run.settings import dump_settings, read_settings_file

TOML = """
rounds = 3
[data.columns.sex]
kind = "category"
values = ["f", "m"]
also = { F = "f" }
missing = "f"
indicator = true
[data.columns."crp, high"]
kind = "number"
codes = [-999]
low = 0
unit = "mg/l"
"""


def test_rules_of_a_file_are_a_setting_that_a_run_writes_and_reads_again(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TOML)
    settings = Settings.from_run_config(read_settings_file(tmp_path / "s.toml"))
    rules = column_rules(settings.column_rules)
    assert rules.names == ("crp, high", "sex")
    assert rules.inputs(("age", "sex", "crp, high")) == ("age", "sex=m", "sex missing", "crp, high")
    (tmp_path / "again.toml").write_text(dump_settings(settings))
    assert Settings.from_run_config(read_settings_file(tmp_path / "again.toml")) == settings


def test_the_order_of_rules_does_not_matter_and_none_are_none() -> None:
    one, other = {"kind": "boolean"}, {"kind": "ignore"}
    assert rules_text({"a": one, "b": other}) == rules_text({"b": other, "a": one})
    assert column_rules(rules_text({})) == NO_RULES
    assert column_rules(rules_text({"b": other})).names == ()


@pytest.mark.parametrize(
    ("rule", "cause"),
    [
        ({}, "has no kind that is known: give one of number, boolean"),
        ({"kind": "number", "values": ["a"]}, "has 'values', and one of kind number has"),
        ({"kind": "category"}, "needs values"),
        ({"kind": "category", "values": ["a", "a"]}, "needs values"),
        ({"kind": "category", "values": ["a", ""]}, "needs values"),
        ({"kind": "category", "values": ["a", "b"], "missing": "c"}, "has missing = 'c': give one of its values"),
        ({"kind": "category", "values": ["a", "b"], "also": {"A": "c"}}, "has in also something else"),
        ({"kind": "number", "missing": "a"}, "has missing = 'a': give a number"),
        ({"kind": "number", "low": 2, "high": 1}, "low is not below high"),
        ({"kind": "number", "codes": [True]}, "has codes"),
        ({"kind": "number", "censored": "third"}, "neither limit nor half"),
        ({"kind": "number", "indicator": 1}, "is not true or false"),
        ({"kind": "date", "unit": "d"}, "has 'unit'"),
        ("number", "has no kind"),
    ],
)
def test_what_is_no_rule_is_refused_with_the_column(rule: object, cause: str) -> None:
    with pytest.raises(ConfigError, match=f"the rule of the column 'x' .*{cause}"):
        rules_text({"x": rule})


@pytest.mark.parametrize(
    "text",
    [
        "[1]",
        "{",
        '{"a": {"kind": "date"}, "a": {"kind": "date"}}',
        '{"a": NaN}',
        '{"a": ' + "[" * 100_000,
        "x" * 1_000_001,
    ],
)
def test_a_setting_that_holds_no_rules_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="column-rules"):
        Settings(column_rules=text)


def test_two_inputs_of_one_name_are_refused() -> None:
    sex = {"kind": "category", "values": ["f", "m"]}
    with pytest.raises(ConfigError, match="two inputs named 'sex=m'"):
        rules_text({"sex": sex, "sex=m": {"kind": "number"}})


def test_a_file_with_rules_in_two_places_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text('column-rules = "{}"\n' + TOML)
    with pytest.raises(ConfigError, match="leave out one of them"):
        read_settings_file(tmp_path / "s.toml")
