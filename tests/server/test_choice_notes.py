"""Notes of the summary about the choice of the best model."""

from typing import Any

import pytest

from pfedgp_core.config import Settings
from pfedgp_core.metrics.task_report import CLASSIFICATION, REGRESSION, TaskReport
from server.choice_notes import choice_notes

OWN = Settings(best_classes="own")
ALL = Settings()


def told(
    scores: dict[int, dict[str, Any]], best: int, settings: Settings = ALL, report: TaskReport = CLASSIFICATION
) -> list[str]:
    return choice_notes(settings, [{"round": t, **record} for t, record in scores.items()], best, report)


def accuracies(key: str, *values: float | None) -> dict[int, dict[str, Any]]:
    return {t: {f"validation_{key}": value} for t, value in enumerate(values, start=1)}


def test_a_round_with_a_higher_pooled_number_is_named() -> None:
    (note,) = told(accuracies("accuracy", 0.5, 0.655, None, 0.533), 4)
    assert note.startswith(
        "the best model is of round 4 (53.3 %) although round 2 has the better pooled accuracy (65.5 %)"
    )


@pytest.mark.parametrize("best", [2, 3])
def test_where_the_best_one_has_the_highest_number_nothing_is_said(best: int) -> None:
    assert told(accuracies("accuracy", 0.5, 0.655, 0.655), best) == []


def test_a_smaller_error_is_better() -> None:
    found = accuracies("standard_rmse", 0.5, 0.4)
    assert told(found, 2, report=REGRESSION) == []
    assert "round 2 has the better pooled" in told(found, 1, report=REGRESSION)[0]


def test_what_decides_is_compared() -> None:
    found = {1: {"validation_accuracy": 0.3, "validation_own_accuracy": 0.8}, 2: {"validation_accuracy": 0.4}}
    assert "although round 1 has" in told(found, 2, OWN)[0]  # a tree over own classes has one number
    assert told(found, 1, OWN) == []
    assert "although round 2 has" in told(found, 1)[0]


def test_without_validation_there_is_nothing_to_say() -> None:
    assert told(accuracies("accuracy", None, None), 2) == told({}, 0) == []


def test_numbers_of_other_clients_are_not_compared() -> None:
    found = accuracies("accuracy", 0.5, 0.9, 0.7)
    for record, (evaluated, able) in zip(found.values(), [(6, 10), (6, 10), (10, 10)], strict=True):
        record |= {"evaluated": evaluated, "evaluated_of": able}
    assert told(found, 1) == told(found, 3) == []


@pytest.mark.parametrize(("higher", "notes"), [(0.90004, 0), (0.909, 0), (0.912, 1)])
def test_a_few_samples_more_are_not_told(higher: float, notes: int) -> None:
    assert len(told(accuracies("accuracy", higher, 0.9), 2)) == notes


def test_the_error_is_that_of_the_number_that_decides() -> None:
    record = {"validation_accuracy": 0.1, "validation_own_accuracy": 0.6, "evaluated": 3, "evaluated_of": 9}
    record |= {"standard_errors": {"accuracy": 0.01, "own_accuracy": 0.05}}
    for settings, error in ((ALL, "1.0 %"), (OWN, "5.0 %")):
        (note,) = told({1: record}, 1, settings.replace(evaluate_clients=3))
        assert note.endswith(f"the best model's accuracy has a standard error of {error}")
