"""The line of a round says whether its model is the best so far, and by which classes and clients that is decided."""

import io
from pathlib import Path
from typing import Any

from pfedgp_core.config import Settings
from server.report.console import ConsoleReporter
from tests.server.report.test_console import DIGITS, RECORD


def printed(records: list[dict[str, Any]], done: int = 0, **changed: Any) -> list[str]:
    """The lines of rounds, of which the first `done` were before an interruption."""
    out = io.StringIO()
    reporter = ConsoleReporter(out)
    reporter.start(Settings(**changed), 20, Path("/runs/a"), DIGITS)
    assert ("(best by own classes)" in out.getvalue()) == ("best_classes" in changed)
    whole = [RECORD | {"round": t} | record for t, record in enumerate(records, start=5)]
    if done:
        reporter.resume(done, whole[:done])
    for record in whole[done:]:
        reporter.round(record)
    return [line for line in out.getvalue().splitlines() if line.startswith("round")]


SCORES = [(0.5, True), (0.6, False), (0.4, True), (0.4, True), (0.3, False), (None, False)]
STANDING = ["best so far", "not best, as few clients gain", "best so far for most clients", "best so far", "", ""]


def test_where_few_clients_gain_the_line_says_so() -> None:
    records = [{"validation_accuracy": score, "best": best} for score, best in SCORES]
    for done in (0, 1, 3):
        lines = printed(records, done)
        assert [line.partition("ETA ")[2].partition(" s")[2].strip() for line in lines] == STANDING[done:]


def test_own_classes_are_shown_where_they_decide() -> None:
    records = [
        {"validation_accuracy": 0.2, "validation_own_accuracy": 0.64, "best": True},
        {"validation_accuracy": 0.1, "validation_own_accuracy": 0.7, "best": True},
    ]
    assert not [line for line in printed(records) if "own classes" in line]
    assert printed(records)[1].endswith("best so far for most clients")
    own = printed(records, best_classes="own")
    assert "val acc 20.0 %  own classes 64.0 %  ece" in own[0]
    assert [line.endswith("  best so far") for line in own] == [True, True]


def test_where_other_clients_are_drawn_a_higher_number_says_nothing() -> None:
    drawn = {"evaluated": 6, "evaluated_of": 10}
    records = [{"validation_accuracy": score, "best": best} | drawn for score, best in SCORES]
    ends = [line.partition("ETA ")[2].partition(" s")[2].strip() for line in printed(records)]
    assert ends == ["best so far", "", "best so far", "best so far", "", ""]


def test_regression_has_no_own_classes() -> None:
    records = [{"validation_standard_rmse": 0.7, "validation_rmse": 0.7, "best": True}]
    out = io.StringIO()
    reporter = ConsoleReporter(out)
    reporter.start(Settings(task="regression", dataset="diabetes", best_classes="own"), 20, Path("/runs/a"), DIGITS)
    reporter.round(RECORD | records[0])
    assert "own classes" not in out.getvalue()
