"""Numbers that only the notes of a case state: counts of the two sides, and shares."""

from typing import Any

import pytest

from pfedgp.verification.cases.format import NotUnderstood
from pfedgp.verification.cases.noted import Sides, noted_sides
from tests.pfedgp.verification.golden_runs import failures, results


@pytest.mark.parametrize(
    ("text", "sides"),
    [
        ("only left samples (7/0) and M=3 per class", Sides((7, 0), (10, 3))),
        ("90/10 with 50+50 inducing inputs", Sides((90, 10), (140, 60))),
        ("data 4 / 12, inducing 2 + 6; again 4/12", Sides((4, 12), (6, 18))),
        ("ratio 9/7 (90/10), M = 5", Sides((90, 10), (95, 15))),
        ("q prior 9/10, p prior 0.7", Sides((9, 1), (7, 3), counted=False)),
        ("P prior = 1/4; Q_prior: .5", Sides((1, 1), (1, 3), counted=False)),
    ],
)
def test_notes_that_say_it(text: str, sides: Sides) -> None:
    assert noted_sides(text) == sides


@pytest.mark.parametrize(
    "text",
    [
        "",
        "90/10",
        "50+50",
        "90/10 or 80/20 with 50+50",
        "90/10 with M=3 or M=4",
        "q prior 3/2, p prior 1/2",
        "q prior .5",
    ],
)
def test_notes_that_do_not_say_it_are_not_understood(text: str) -> None:
    with pytest.raises(NotUnderstood):
        noted_sides(text)


def case(notes: str, values: dict[str, Any]) -> list[dict[str, Any]]:
    asserts = [{"name": n, "value": v, "atol": 1e-12, "kind": "exact"} for n, v in values.items()]
    inputs = {"p_first_in": [0.5, 0.2]}
    return [{"id": "a", "topic": "ipdata", "inputs": inputs, "asserts": asserts, "notes": notes}]


# A side's share among the client's points over that among all points, for the right side one minus it.
def corrected(q: float, p: float) -> list[float]:
    odds = q / p * (1 - p) / (1 - q)
    return [odds / (1 + odds), 0.2 * odds / (0.2 * odds + 0.8)]


@pytest.mark.parametrize("notes", ["90/10 with 50+50", "q prior 9/10, p prior 7/10"])
def test_class_ratio_by_notes(notes: str) -> None:
    assert failures(case(notes, {"q prior": 0.9, "p prior": 0.7, "corrected": corrected(0.9, 0.7)})) == []


def test_other_notes_fail() -> None:
    values = {"q prior": 0.9, "p prior": 0.7, "corrected": corrected(0.9, 0.7)}
    assert len(failures(case("80/20 with 50+10", values))) == 3


def test_smoothing_needs_counts() -> None:
    smoothed = {"add-one smoothed": corrected(91 / 102, 0.7)}
    assert failures(case("90/10 with 50+50", smoothed)) == []
    assert [r.understood for r in results(case("q prior 9/10, p prior 7/10", smoothed))] == [False]
