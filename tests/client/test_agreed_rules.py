"""Rules on which sites have agreed, in a server's requests: part of the settings, where the run has sites agree."""

from dataclasses import replace

import pytest
from flwr.app import ConfigRecord, Message

from client.messages import read_request
from pfedgp_core.column_rules import rules_text
from pfedgp_core.config import Settings
from pfedgp_core.data.spec import DataSpec
from pfedgp_core.errors import ConfigError, DataError
from server.flower.messages import request, request_config

RULES = rules_text({"crp": {"kind": "number", "missing": 0.5}})
SPEC = DataSpec(("ill", "well"), (1,), (0.0,), (1.0,), ("crp",))
AGREEING = Settings(column_rules_from="federated")


def asked(config: ConfigRecord) -> Message:
    return request("query.hello", 9, config, None, 60.0)


@pytest.mark.parametrize(
    "config",
    [request_config(AGREEING, rules=RULES), request_config(AGREEING, spec=replace(SPEC, rules=RULES))],
    ids=["before the data are fixed", "with the data"],
)
def test_rules_are_part_of_the_settings(config: ConfigRecord) -> None:
    settings = read_request(asked(config)).settings
    assert settings == Settings(column_rules=RULES)


def test_without_rules_the_settings_are_the_run_s() -> None:
    assert read_request(asked(request_config(AGREEING))).settings == AGREEING
    assert read_request(asked(request_config(Settings(), spec=SPEC))).settings == Settings()


def test_rules_are_taken_only_where_the_run_has_sites_agree() -> None:
    given = Settings(column_rules=rules_text({"crp": {"kind": "ignore"}}))
    for config in (request_config(given, rules=RULES), request_config(given, spec=replace(SPEC, rules=RULES))):
        with pytest.raises(DataError, match="this run's sites do not agree on any"):
            read_request(asked(config))


@pytest.mark.parametrize("rules", ["[]", '{"crp": {"kind": "formula"}}', "{" * 2_000_000])
def test_rules_that_are_none_are_refused(rules: str) -> None:
    with pytest.raises(ConfigError):
        read_request(asked(request_config(AGREEING, rules=rules)))
    with pytest.raises(DataError, match="rules that are none"):
        DataSpec.from_json(replace(SPEC, rules=rules).to_json())
