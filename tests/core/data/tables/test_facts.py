"""`check-data` shows every column of a table, and names what is no feature by its looks."""

from pathlib import Path

import numpy as np
import pytest

from pfedgp_core.data.own.reader import check_data

DRAW = np.random.default_rng(3)


def table(path: Path, **columns: list[object]) -> Path:
    rows = zip(*columns.values(), strict=True)
    path.write_text("\n".join([",".join(columns), *(",".join(map(str, row)) for row in rows)]) + "\n")
    return path


def numbers(n: int = 20) -> list[object]:
    return [float(x) for x in np.round(DRAW.normal(size=n), 2)]


LABELS: list[object] = [i % 2 for i in range(20)]


def test_every_column_is_shown_with_kind_range_distinct_and_missing_values(tmp_path: Path) -> None:
    file = table(
        tmp_path / "t.csv",
        a=[0.5, 1, 2, "", 2] * 4,
        sex=["f", "m", "", "f", "m"] * 4,
        smoker=["TRUE", "no", "no", "yes", "no"] * 4,
        seen=["2024-01-02", "2024-01-03", "2024-01-02", "2024-01-04", "2024-01-02"] * 4,
        low=["<0.5", 1, 2, 3, 1] * 4,
        gone=[""] * 20,
        label=LABELS,
    )
    (part,) = check_data(file).splits
    shown = {fact.name: (fact.kind, fact.span, fact.distinct, fact.missing) for fact in part.columns}
    assert shown == {
        "a": ("number", "0.5 to 2", 3, 4),
        "sex": ("text", "f, m", 2, 4),
        "smoker": ("true/false", "TRUE, no, yes", 3, 0),
        "seen": ("date", "2024-01-02, 2024-01-03, 2024-01-04", 3, 0),
        "low": ("limits", "1 to 3, <0.5", 4, 0),
        "gone": ("empty", "", 0, 20),
        "label": ("class", "0, 1", 2, 0),
    }
    assert "sex     text" in check_data(file).text()


def test_one_problem_names_the_command_that_drafts_rules(tmp_path: Path) -> None:
    file = table(tmp_path / "t.csv", low=["<0.5", 1] * 10, sex=["f", "m"] * 10, a=["", 1.0] * 10, label=LABELS)
    problems = check_data(file).problems
    assert len(problems) == 3
    assert [problem.count("check-data --rules FILE") for problem in problems] == [1, 0, 0]
    assert all("or agree on a rule for it" in problem for problem in problems)


@pytest.mark.parametrize(
    ("column", "note"),
    [
        ([f"P{i:03}" for i in range(20)], "as an id does"),
        ([*range(7, 27)], "as an id does"),
        ([3] * 20, "has one value only"),
        ([5 + 3 * i for i in LABELS], "tells the class exactly"),  # type: ignore[operator]
        (["yes" if i else "no" for i in LABELS], "tells the class exactly"),
        ([-999, *[round(0.1 * i, 1) for i in range(19)]], "has -999 in 1 of 20 rows"),
        ([9999, 999, *[round(0.1 * i, 1) for i in range(18)]], "has 9999 in 1 of 20 rows"),
    ],
)
def test_what_is_hardly_a_feature_is_noted_by_name(column: list[object], note: str, tmp_path: Path) -> None:
    file = table(tmp_path / "t.csv", a=numbers(), odd=column, label=LABELS)
    notes = [remark for remark in check_data(file).remarks if remark.startswith("The column ")]
    assert len(notes) >= 1
    assert all(remark.startswith("The column 'odd' ") for remark in notes)
    assert any(note in remark for remark in notes)


def test_ages_beside_99_and_plain_numbers_are_not_noted(tmp_path: Path) -> None:
    ages = [int(x) for x in DRAW.integers(60, 99, 19)] + [99]
    file = table(tmp_path / "t.csv", a=numbers(), age=ages, label=LABELS)
    assert not [remark for remark in check_data(file).remarks if remark.startswith("The column ")]
