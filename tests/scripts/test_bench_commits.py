"""When a case counts as slower: by itself, and beside the control of its own run."""

import importlib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The script, with its folder on the path as Python puts it there."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    return importlib.import_module("bench_commits")


def run(update: float, epoch: float = 1.0) -> dict[str, dict[str, float]]:
    return {"case": {"update_cpu_s": update, "evaluate_cpu_s": 1.0, "predict_cpu_s": 1.0, "epoch_cpu_s": epoch}}


def test_a_slower_update_is_too_slow(bench: Any) -> None:
    assert not bench.report([[run(1.0), run(1.1)]], bench.UPDATES, 1.03)


def test_a_slower_machine_is_not(bench: Any) -> None:
    assert bench.report([[run(1.0), run(1.1, epoch=1.1)]], bench.UPDATES, 1.03)


def test_the_median_of_the_pairs_counts(bench: Any) -> None:
    assert bench.report([[run(1.0), run(u)] for u in (1.0, 1.0, 9.0)], bench.UPDATES, 1.03)


def test_both_updates_are_stated_over_their_own_epochs(bench: Any, capsys: pytest.CaptureFixture[str]) -> None:
    bench.report([[run(3.0, epoch=2.0), run(2.4, epoch=2.0)]], bench.UPDATES, 1.03)
    assert "update over its epoch: before 1.500, after 1.200" in capsys.readouterr().out


def test_deployed_rounds_have_no_control(bench: Any) -> None:
    before, after = ({"case": dict.fromkeys(bench.ROUNDS, value)} for value in (1.0, 1.1))
    assert not bench.report([[before, after]], bench.ROUNDS, 1.03)


def test_each_pair_measures_both(bench: Any) -> None:
    pairs = bench.pairs_of(["before", "after"], 4, lambda tree: {tree: {}})
    assert pairs == [[{"before": {}}, {"after": {}}]] * 4
