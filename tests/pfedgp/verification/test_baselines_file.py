"""The baselines' public file: every topic is built and passes, and what is not known is said not to be understood."""

from functools import cache

import pytest
import torch

from pfedgp.verification.runner import TOPICS
from tests.pfedgp.verification.golden_runs import failures, public, results

BUILT = sorted({case["topic"] for case in public()})
# A proximal problem is solved by thousands of steps.
TOPICS_BY_TIME = [pytest.param(topic, marks=[pytest.mark.slow] * (topic == "pfedme_prox")) for topic in BUILT]


@cache
def found(topic):
    """The results of a topic as it is published: some take seconds."""
    return results(public(topic))


@pytest.mark.parametrize("topic", BUILT)
def test_topic_is_built(topic):
    assert topic in TOPICS


@pytest.mark.parametrize("topic", TOPICS_BY_TIME)
def test_built_topic_passes_in_both_precisions(topic):
    assert [str(r) for r in found(topic) if r.status == "FAIL"] == []


@pytest.mark.parametrize("topic", TOPICS_BY_TIME)
def test_every_value_is_compared_in_both_precisions(topic):
    kinds = [check["kind"] for case in public(topic) for check in case["asserts"]]
    sampled = kinds.count("mc")  # in float64 alone
    once = sampled + kinds.count("spec")  # settings have no precision
    assert len([r for r in found(topic) if r.status == "PASS"]) == 2 * kinds.count("exact") + once


def test_topic_that_is_not_built_is_not_understood():
    cases = [case | {"topic": "weather"} for case in public("dirichlet")]
    assert {(r.status, r.understood) for r in results(cases)} == {("FAIL", False)}


def test_information_is_not_matched():
    assert [r.name for r in results(public("metrics")) if r.status == "INFO"] == ["mean_of_client_eces"] * 2


def test_a_table_of_settings_that_the_product_has_not_is_shown():
    case = public("metrics")[0]
    case["asserts"] = [{"name": "table", "value": {"a": 1}, "kind": "spec"}]
    assert [r.status for r in results([case])] == ["INFO"]


@pytest.mark.parametrize("topic", TOPICS_BY_TIME)
def test_unknown_name_is_not_understood(topic):
    case = public(topic)[0]
    case["asserts"][0]["name"] = "colour_of_the_server"
    assert [r.name.split()[0] for r in results([case]) if not r.understood] == ["colour_of_the_server"] * 2


def pushed(value, by=1e-2):
    """The value with its first number moved, or one more where there is none."""
    if isinstance(value, dict):
        first = next(iter(value))
        return {**value, first: pushed(value[first], by)}
    if isinstance(value, list):
        return [pushed(value[0], by), *value[1:]] if value else [by]
    return value + by


@pytest.mark.parametrize("topic", TOPICS_BY_TIME)
def test_every_value_can_fail(topic):
    cases = public(topic)
    for check in (check for case in cases for check in case["asserts"]):
        # Tolerances: 1 of a grey level, 5 % of a moment, and less of everything else.
        check["value"] = pushed(check["value"], 2.5 if check.get("atol") == 1.0 else 0.1 if "rtol" in check else 1e-2)
    assert [r.name for r in results(cases) if r.status == "PASS"] == []


def renamed(value, names):
    """The same with other names of the clients, as values, as keys, and at the end of the asserts' names."""
    if isinstance(value, dict):
        return {renamed(key, names): renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if not isinstance(value, str):
        return value
    start, _, end = value.rpartition("_")
    return f"{start}_{names[end]}" if start and end in names else names.get(value, value)


@pytest.mark.parametrize("topic", ["fedu", "fola", "peravg", "pfedhn", "pfedme"])
def test_names_of_clients_do_not_matter(topic):
    names = {"c0": "Ward_of_north"} | ({} if topic == "pfedhn" else {"c1": "fo_c0", "c2": "c10", "c3": "x"})
    case = renamed(public(topic)[1], names)
    assert "Ward_of_north" in str(case["inputs"])
    assert failures([case], torch.float64) == []
