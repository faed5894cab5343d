"""Row sums of any quantity that is a table of numbers."""

from typing import Any

import pytest

from tests.pfedgp.verification.golden_runs import failures, results

P_LEFT = [0.25, 0.5, 1.0]


def case(name: str, value: Any) -> list[dict[str, Any]]:
    """A tree of three classes and three samples."""
    inputs = {"nodes": {"a": [[0], [1, 2]], "b": [[1], [2]]}, "p_left": {"a": P_LEFT, "b": P_LEFT}}
    asserts = [{"name": name, "value": value, "atol": 1e-12, "kind": "exact"}]
    return [{"id": "a", "topic": "tree", "inputs": inputs, "asserts": asserts}]


@pytest.mark.parametrize(
    "name", ["row_sums", "Row sums of class_probs", "class_probs: row sums", "rows sum to 1", "sums of the rows to one"]
)
@pytest.mark.parametrize("value", [1.0, [1.0, 1.0, 1.0]])
def test_probabilities_of_classes_sum_to_one(name: str, value: Any) -> None:
    assert failures(case(name, value)) == []


@pytest.mark.parametrize("value", [1.01, [1.0, 1.0, 0.9], [1.0, 1.0]])
def test_other_sums_fail(value: Any) -> None:
    assert len(failures(case("row sums", value))) == 1


@pytest.mark.parametrize("name", ["row sums of the weather", "row sums of classes"])
def test_what_has_no_rows_is_not_understood(name: str) -> None:
    assert [r.understood for r in results(case(name, 1.0))] == [False]


def test_where_a_topic_has_no_table_the_quantity_must_be_named() -> None:
    asked = {"id": "a", "topic": "pac", "inputs": {}, "asserts": case("row sums", 1.0)[0]["asserts"]}
    assert [r.understood for r in results([asked])] == [False]
