"""Inputs and tolerances of a form that no rule foresaw: a sentence for each assert, and the run goes on."""

from typing import Any

import pytest

from tests.pfedgp.verification.golden_runs import failures


def case(inputs: dict[str, Any], **tolerances: Any) -> list[dict[str, Any]]:
    """A case of metrics, and one after it that passes."""
    good = {"probs": [[0.25, 0.75]], "labels": [1]}
    check = {"name": "accuracy", "value": 1.0, "atol": 1e-9, "kind": "exact"}
    return [
        {"id": "a", "topic": "calibration", "inputs": inputs, "asserts": [check | tolerances]},
        {"id": "b", "topic": "calibration", "inputs": good, "asserts": [check]},
    ]


@pytest.mark.parametrize("name", [["b"], {"b": 1}, 3, True])
def test_a_case_that_is_no_id_is_not_understood(name: Any) -> None:
    (said,) = failures(case({"case": name}))
    assert said == f"FAIL a accuracy not understood: input 'case' is {name!r}, not the id of a case"


def test_a_case_by_its_id_is_found() -> None:
    assert failures(case({"case": "b"})) == []


def test_an_error_of_a_rule_is_told_as_a_sentence() -> None:
    (said,) = failures(case({"probs": [["x"]], "labels": [0]}))
    assert said.startswith("FAIL a accuracy not computed: the inputs have a form that the rule does not expect (")


@pytest.mark.parametrize("tolerance", [["x"], "x", {}, True, -1.0])
def test_a_tolerance_of_float32_that_is_no_number_is_not_understood(tolerance: Any) -> None:
    said = failures(case({"case": "b"}, atol_float32=tolerance))
    assert said == [
        f"FAIL a accuracy (float32) not understood: the tolerance {tolerance!r} for float32 is no number from 0 on"
    ]
