"""The martingale of `pfedgp watch`: rarely an alarm where nothing changes, soon one where something does."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pfedgp_core.errors import DamagedStateError
from pfedgp_core.site.drift import ALARM, JumperState, advance, first_alarm
from pfedgp_core.site.drift_scores import new_scores, own_scores
from pfedgp_core.site.site_files import checksum
from pfedgp_core.site.watch_state import WatchState
from tests.core.site.test_saved import data, site_of


def alarms(streams: int, change: float) -> list[int | None]:
    found = []
    for seed in range(streams):
        rng = np.random.default_rng(seed)
        scores = rng.gamma(1.5, size=(2, 160))
        scores[:, 90:] += change
        found.append(first_alarm(advance(JumperState.start(scores[:, :60]), scores[:, 60:], rng)[1]))
    return found


@pytest.mark.slow
def test_without_a_change_alarms_are_rare() -> None:
    assert sum(at is not None for at in alarms(300, 0.0)) <= 8  # 1 % would be 3; more than 8 have probability .003


def test_a_change_is_seen_within_fifty_samples() -> None:
    late = [at for at in alarms(40, 3.0) if at is not None and at >= 30]
    assert len(late) >= 38
    assert np.median(late) - 30 < 50


def test_parts_are_watched_as_the_whole() -> None:
    scores = np.random.default_rng(0).gamma(1.5, size=(2, 100))
    whole, values = advance(JumperState.start(scores[:, :60]), scores[:, 60:], np.random.default_rng(1))
    rng = np.random.default_rng(1)
    half, first = advance(JumperState.start(scores[:, :60]), scores[:, 60:80], rng)
    other, second = advance(half, scores[:, 80:], rng)
    np.testing.assert_array_equal(np.concatenate([first, second]), values)
    np.testing.assert_array_equal(other.capital, whole.capital)


@pytest.mark.slow
def test_the_expected_capital_stays_one() -> None:
    ends = []
    for seed in range(2000):
        rng = np.random.default_rng(seed)
        scores = rng.integers(0, 3, size=(2, 12)).astype(float)  # ties
        ends.append(advance(JumperState.start(scores[:, :4]), scores[:, 4:], rng)[0].value)
    assert abs(np.mean(ends) - 1) < 4 * np.std(ends) / np.sqrt(len(ends))


def test_the_scores_are_those_of_the_predictions() -> None:
    site = site_of(60)
    new = data(10, seed=1).inputs
    assert own_scores(site).shape == (2, 60)
    np.testing.assert_array_equal(new_scores(site, new)[0], site.predict(new).entropy)


def test_an_alarm_that_nobody_hears_does_not_end_at_infinity(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    state, values = advance(JumperState.start(rng.normal(size=(2, 60))), 9 + rng.normal(size=(2, 3000)), rng)
    assert np.isfinite(values).all()
    assert values[-1] >= ALARM
    WatchState("ab", state.scores[:, 60:], state.capital, float(values.max())).write(tmp_path / "w.json")
    found = WatchState.read(tmp_path / "w.json")
    assert found is not None
    np.testing.assert_array_equal(found.capital, state.capital)


@pytest.mark.parametrize(
    "change",
    [
        {"capital": [[-1.0, 1, 1]] * 2},
        {"capital": [[1e200, 1, 1]] * 2},
        {"seen": [["1"], ["2"]]},
        {"seen": [[True]] * 2},
    ],
)
def test_a_state_that_no_watching_made_is_refused(tmp_path: Path, change: dict[str, Any]) -> None:
    file = tmp_path / "w.json"
    WatchState("ab", np.zeros((2, 1)), np.full((2, 3), 1 / 6), 1.0).write(file)
    about = json.loads(file.read_text()) | change
    del about["checksum"]
    file.write_text(json.dumps(about | {"checksum": checksum(about)}))
    with pytest.raises(DamagedStateError, match="delete it to begin again"):
        WatchState.read(file)
