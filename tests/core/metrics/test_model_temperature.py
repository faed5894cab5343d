"""The prudent temperature: no further from 1 than the samples say, and no client moves it far."""

from collections.abc import Sequence

import numpy as np
import pytest

from pfedgp_core.metrics.calibration import CalibrationSums, lowest_ece, prudent_temperature, temperature_sums
from pfedgp_core.metrics.classification import MetricSums
from pfedgp_core.metrics.summary import summarise
from pfedgp_core.metrics.temperature import TEMPERATURE_GRID, best_temperature, temperature_scale
from tests.core.metrics.test_calibration import predictions


def binary(confidences: list[float], wrong: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes, the first more probable; the last `wrong` samples are of the second."""
    p = np.array([[c, 1 - c] for c in confidences])
    return p, (np.arange(len(p)) >= len(p) - wrong).astype(int)


def prudent(confidences: list[float], wrong: int) -> float | None:
    return prudent_temperature([temperature_sums(*binary(confidences, wrong))])


def by_definition(p: np.ndarray, y: np.ndarray) -> float:
    """The prudent rule on the predictions themselves."""
    allowed = ((p.argmax(axis=1) == y).sum() + 1) / (len(y) + 2)
    sharpest = next((t for t in TEMPERATURE_GRID if temperature_scale(p, t).max(axis=1).mean() <= allowed), 1000.0)
    between = [t for t in TEMPERATURE_GRID if min(sharpest, 1) <= t <= max(sharpest, 1)]
    return best_temperature(p, y, between)


def test_the_prudent_temperature_is_that_of_the_pooled_predictions() -> None:
    chosen, differs = set(), 0
    for seed in range(8):
        for at in (0.1, 0.4, 1.0, 2.0, 5.0):
            parts = [predictions(n, 3, seed=100 * seed + n, sharpness=2.0 + seed) for n in (13, 30, 60)]
            parts = [(temperature_scale(p, at), y) for p, y in parts]
            none = CalibrationSums.zero()
            total = sum((CalibrationSums(temperature_sums(p, y), none.test) for p, y in parts), none)
            p, y = (np.concatenate(column) for column in zip(*parts, strict=True))
            found = prudent_temperature([total.validation])
            assert found == by_definition(p, y)
            chosen.add(found)
            differs += found != lowest_ece(total.validation)
    assert min(chosen) < 1 < max(chosen)
    assert 1.0 in chosen
    assert differs > 5


def test_few_samples_without_a_mistake_do_not_make_it_certain() -> None:
    confidences = [0.7, 0.8, 0.9] * 24
    assert lowest_ece(temperature_sums(*binary(confidences, 0))) == 0.1
    found = prudent(confidences, 0)
    assert found is not None
    assert 0.1 < found < 1
    assert temperature_scale(binary(confidences, 0)[0], found).max(axis=1).mean() <= 73 / 74
    # The more of them there are, the nearer it comes to the smallest ECE.
    assert prudent(confidences * 100, 0) < found


@pytest.mark.parametrize(
    ("wrong", "expected"), [(0, 0.5), (5, 1.0), (10, 1.0), (12, 1.0), (24, 2.0), (40, 5.0), (70, 1000.0)]
)
def test_confidence_of_90_percent_on_100_samples(wrong: int, expected: float) -> None:
    # At 0.5, 2, 5 and 1000: confidences of 99, 75, 61 and 50 percent.
    assert prudent([0.9] * 100, wrong) == expected


def test_a_step_of_the_grid_that_is_the_larger_error_is_not_taken() -> None:
    # 90 of 100 by the rule of succession are 89.2 percent, and the next step says 75 where it was 90.
    assert prudent([0.9] * 100, 10) == 1.0
    assert prudent([0.9] * 100_000, 11_000) == 1.0


@pytest.mark.parametrize("n", [1, 2, 9])
@pytest.mark.parametrize("right", [True, False])
def test_a_handful_of_samples_changes_nothing(n: int, right: bool) -> None:
    assert prudent([0.6] * n, 0 if right else n) == 1.0


def test_ten_samples_may_change_it_in_both_directions() -> None:
    assert prudent([0.6] * 10, 0) == 0.2
    assert prudent([0.9] * 10, 7) == 1000.0


@pytest.mark.parametrize("wrong", [0, 4, 30])
def test_sites_with_one_class_have_no_say(wrong: int) -> None:
    single = temperature_sums(np.ones((30, 1)), np.where(np.arange(30) < wrong, -1, 0))
    assert prudent_temperature([single]) == 1.0
    for mistakes, confidence in ((0, 0.8), (24, 0.9)):
        others = temperature_sums(*binary([confidence] * 72, mistakes))
        both = [a + b for a, b in zip(others, single, strict=True)]
        alone = prudent_temperature([others])
        assert alone != 1.0
        assert prudent_temperature([both]) == alone
    few = [a + b for a, b in zip(temperature_sums(*binary([0.8] * 2, 2)), single, strict=True)]
    assert prudent_temperature([few]) == 1.0


def test_a_client_that_claims_many_samples_counts_as_much_as_the_median_one() -> None:
    honest = [temperature_sums(*binary([0.8] * n, 0)) for n in (40, 50)]
    flat = temperature_sums(*binary([0.8] * 60, 45))
    huge = [MetricSums.from_dict(scaled(at.to_dict(), 10**6)) for at in flat]
    assert huge[0].n == 60 * 10**6
    assert prudent_temperature([huge]) == 1000.0
    found = prudent_temperature([*honest, huge])
    assert found == prudent_temperature([*honest, flat])
    assert found is not None
    assert found < 1000


def test_two_clients_of_one_size_have_the_temperature_of_the_pooled_data() -> None:
    equal = [temperature_sums(*binary([0.7, 0.8, 0.9] * 10, wrong)) for wrong in (0, 3)]
    assert prudent_temperature(equal) == prudent_temperature([pooled(equal)]) != 1.0


LIES = {
    "all wrong": ([0.95] * 40, 40),
    "all right and in doubt": ([0.51] * 40, 0),
    "all right": ([0.95] * 40, 0),
}


def steps(temperature: float | None) -> int:
    """Of the grid, from temperature 1."""
    assert temperature is not None
    return TEMPERATURE_GRID.index(temperature) - TEMPERATURE_GRID.index(1.0)


def pooled(clients: Sequence[Sequence[MetricSums]]) -> list[MetricSums]:
    """All clients as one, which nothing is left out of."""
    return [sum(at, MetricSums.zero()) for at in zip(*clients, strict=True)]


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("wrong", [0, 5, 12])
def test_one_client_moves_the_temperature_a_step_further_from_1_than_the_others_do(wrong: int, lie: str) -> None:
    honest = [temperature_sums(*binary([0.8, 0.9] * 20, wrong + more)) for more in range(4)]
    alone = steps(prudent_temperature([pooled(honest)]))
    found = steps(prudent_temperature([*honest, temperature_sums(*binary(*LIES[lie]))]))
    assert min(alone, 0) - 1 <= found <= max(alone, 0) + 1


@pytest.mark.parametrize(
    ("wrong", "lie", "honestly", "unbounded", "bounded"),
    [(5, "all wrong", 0, 2, 1), (0, "all right and in doubt", -1, -3, -2)],
)
def test_without_that_bound_it_would(wrong: int, lie: str, honestly: int, unbounded: int, bounded: int) -> None:
    honest = [temperature_sums(*binary([0.8, 0.9] * 20, wrong)) for _ in range(4)]
    both = [*honest, temperature_sums(*binary(*LIES[lie]))]
    found = [steps(prudent_temperature(clients)) for clients in (honest, [pooled(both)], both)]
    assert found == [honestly, unbounded, bounded]


def scaled(sums: dict, times: int) -> dict:
    return {k: [times * x for x in v] if isinstance(v, list) else times * v for k, v in sums.items()}


def test_where_all_temperatures_are_equal_it_is_one() -> None:
    sums = temperature_sums(*binary([0.5] * 20, 10))
    assert len({summarise(at)["ece"] for at in sums}) == 1
    assert lowest_ece(sums) == 0.1
    assert prudent_temperature([sums]) == 1.0
