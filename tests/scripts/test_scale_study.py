"""experiments/scale_study.py: who says what about the scale, and a table of cells that are there."""

from pathlib import Path

import numpy as np
import pytest

from tests.scripts.test_calibration_study import module

study, answers = module("scale_study"), module("calibration_answers")


def one(population: str, trained: bool, likes: float) -> dict[float, list]:  # type: ignore[type-arg]
    """A client whose training data like small scales, and whose validation data like one scale."""
    found = {}
    for scale in study.SCALES:
        right = {"loo": 1 / scale, "validation": 0.9 if scale == likes else 0.1, "test": 0.9}
        splits = {k: (np.log([[p, 1 - p]] * 4), np.zeros(4, int)) for k, p in right.items()}
        found[scale] = [answers.Answers(answers.Place(population, None, trained), splits)]
    return found


def federation(*clients: dict[float, list]) -> dict[float, list]:  # type: ignore[type-arg]
    return {scale: [each for client in clients for each in client[scale]] for scale in study.SCALES}


def test_every_rule_asks_whom_it_says() -> None:
    rule = study.by_rule("validation", "loo")
    assert rule(federation(one(answers.SEEN, True, 128.0))) == 128
    assert rule(federation(one(answers.SEEN, False, 128.0))) == 8
    assert study.by_rule("loo", "loo")(federation(one(answers.SEEN, True, 128.0))) == 8


def test_clients_that_are_never_seen_have_no_part() -> None:
    both = federation(one(answers.SEEN, True, 512.0), *[one(answers.UNSEEN, False, 32.0)] * 5)
    assert study.RULES["validation"](both) == 512


@pytest.mark.slow
def test_a_small_study_prints_a_row_for_every_rule(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--out", str(tmp_path), "--samples", "54", "--seeds", "0", "--budget", "0.02"]
    study.main(arguments)
    printed = capsys.readouterr().out
    assert printed.count("\n| 54 | ") == 2 * 2 * len(study.RULES)
    study.main([*arguments, "--table"])
    assert capsys.readouterr().out == printed
