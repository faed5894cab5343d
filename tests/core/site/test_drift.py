"""The martingale of `pfedgp watch`: rarely an alarm where nothing changes, soon one where something does."""

import numpy as np

from pfedgp_core.site.drift import JumperState, advance, first_alarm
from pfedgp_core.site.drift_scores import new_scores, own_scores
from tests.core.site.test_saved import data, site_of


def alarms(streams: int, change: float) -> list[int | None]:
    found = []
    for seed in range(streams):
        rng = np.random.default_rng(seed)
        scores = rng.gamma(1.5, size=(2, 160))
        scores[:, 90:] += change
        found.append(first_alarm(advance(JumperState.start(scores[:, :60]), scores[:, 60:], rng)[1]))
    return found


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
