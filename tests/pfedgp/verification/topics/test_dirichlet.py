"""Dirichlet splits in files of the golden format: other mixes, and clients that fall below the floor."""

from typing import Any

import pytest

from tests.pfedgp.verification.golden_runs import failures, results

# Two clients, three classes: the first class goes 3 : 1, the second 1 : 1, the third to the second client alone.
MIXES = [[0.75, 0.25, 0.0], [0.25, 0.25, 0.5]]
COUNTS = [10, 5, 4]
VALUES: dict[str, Any] = {
    "authors_counts": [[7, 2, 0], [2, 2, 4]],
    "authors_unassigned": [1, 1, 0],
    "largest_remainder_counts": [[8, 3, 0], [2, 2, 4]],
    "clients_below_minimum": [1],
    "floored counts": [[7, 2, 0], [2, 2, 4]],
    "floor_unassigned": [1, 1, 0],
    "complete counts": [[8, 3, 0], [2, 2, 4]],
    "complete unassigned": [0, 0, 0],
    "client_sizes": [11, 8],
    "samples per client": [11, 8],
    "row sums": [11, 8],
    "row sums of authors_counts": [9, 8],
    "normalised proportions": [[0.75, 0.5, 0.0], [0.25, 0.5, 1.0]],
}


def case(minimum: int = 9, **values: Any) -> list[dict[str, Any]]:
    asserts = [{"name": n, "value": v, "atol": 0, "atol_float32": 2e-5, "kind": "exact"} for n, v in values.items()]
    inputs = {"proportions": MIXES, "class_counts": COUNTS, "minimum": minimum}
    return [{"id": "a", "topic": "dirichlet", "inputs": inputs, "asserts": asserts}]


def test_values_by_hand() -> None:
    assert failures(case(**VALUES)) == []


@pytest.mark.parametrize(("minimum", "below"), [(8, []), (11, [1]), (12, [0, 1])])
def test_floors(minimum: int, below: list[int]) -> None:
    assert failures(case(minimum, clients_below_minimum=below)) == []


def test_another_rule_fails() -> None:
    wrong = {"authors_counts": VALUES["largest_remainder_counts"], "largest_remainder_counts": VALUES["authors_counts"]}
    wrong |= {"client sizes": [9, 8], "complete unassigned": [1, 1, 0], "row sums": [9, 8]}
    assert len(failures(case(**wrong))) == 10


@pytest.mark.parametrize(
    "inputs",
    [
        {"class_counts": [10, 5]},
        {"proportions": [[0.75, 0.25, 0.0], [0.25, 0.25, 0.0]]},
        {"proportions": [[0.75, 0.25, -0.1], [0.25, 0.25, 0.5]]},
    ],
)
def test_inputs_that_do_not_fit_are_not_understood(inputs: dict[str, Any]) -> None:
    asked = case(**VALUES)
    asked[0]["inputs"] |= inputs
    assert {r.understood for r in results(asked)} == {False}
