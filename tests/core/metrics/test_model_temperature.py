"""The model's temperature: what the samples say, no further from 1 than that, and no client moves it far."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from pfedgp_core.metrics.likelihood import LIKELIHOOD_GRID, LikelihoodSums
from pfedgp_core.metrics.model_temperature import LARGEST_STEP, choose_temperature, is_spread
from tests.core.metrics.test_leave_one_out_temperature import labelled

ONE = LIKELIHOOD_GRID.index(1.0)


def client(temperature: float, n: int = 40, seed: int = 0) -> LikelihoodSums:
    """Samples of three classes whose labels follow their probabilities at a temperature."""
    return LikelihoodSums.of(*labelled(n, temperature, seed))


def binary(confidences: Sequence[float], wrong: int = 0) -> LikelihoodSums:
    """Two classes, the first more probable; the last `wrong` samples are of the second."""
    p = np.array([[c, 1 - c] for c in confidences])
    return LikelihoodSums.of(np.log(p), (np.arange(len(p)) >= len(p) - wrong).astype(int))


def chosen(clients: Sequence[LikelihoodSums]) -> float:
    found = choose_temperature(clients)
    assert found is not None
    return found.value


def spread(clients: Sequence[LikelihoodSums]) -> float:
    found = choose_temperature(clients)
    assert found is not None
    return found.spread


@pytest.mark.parametrize("temperature", [0.2, 0.5, 1.0, 2.0])
def test_many_clients_find_the_temperature_at_which_they_were_drawn(temperature: float) -> None:
    clients = [client(temperature, seed=seed) for seed in range(100)]
    assert chosen(clients) == pytest.approx(temperature, rel=0.2)


def test_it_maximises_the_likelihood_of_all_with_the_prior() -> None:
    clients = [client(0.4, seed=seed) for seed in range(2)]
    total = np.sum([sums.values for sums in clients], axis=0) - np.log(LIKELIHOOD_GRID) ** 2 / 2
    assert chosen(clients) == LIKELIHOOD_GRID[int(total.argmax())] != 1


def test_few_samples_without_a_mistake_do_not_make_it_certain() -> None:
    few, many = [binary([0.7, 0.8, 0.9] * 24)], [binary([0.7, 0.8, 0.9] * 2400)]
    assert 0.15 < chosen(few) < 0.3
    assert chosen(many) < chosen(few)


def test_without_samples_there_is_none() -> None:
    assert choose_temperature([]) is choose_temperature([LikelihoodSums()]) is None


@pytest.mark.parametrize("wrong", [0, 4, 30])
def test_sites_with_one_class_have_no_say(wrong: int) -> None:
    logs, labels = np.zeros((30, 1)), np.where(np.arange(30) < wrong, -1, 0)
    single = LikelihoodSums.of(logs, labels)
    assert choose_temperature([single]) == choose_temperature([single] * 3)
    assert (chosen([single]), spread([single])) == (1.0, 1.0)
    others = [client(0.3, seed=seed) for seed in range(3)]
    assert choose_temperature([*others, single]) == choose_temperature(others)


def test_a_client_that_claims_many_samples_counts_as_much_as_the_median_one() -> None:
    honest = [binary([0.8] * n) for n in (40, 50)]
    flat = binary([0.8] * 60, 45)
    huge = LikelihoodSums(60 * 10**6, tuple(10**6 * value for value in flat.values))
    assert chosen([huge]) == LIKELIHOOD_GRID[-1]
    assert chosen([*honest, huge]) == chosen([*honest, flat]) < LIKELIHOOD_GRID[-1]


LIES = {
    "all wrong": binary([0.95] * 40, 40),
    "all right and in doubt": binary([0.51] * 40),
    "impossible but at the hottest": LikelihoodSums(40, (-1105.0,) * 59 + (0.0,)),
    "impossible but at the coldest": LikelihoodSums(40, (0.0,) + (-1105.0,) * 59),
}


def steps(temperature: float) -> int:
    """Of the grid, from temperature 1."""
    return LIKELIHOOD_GRID.index(temperature) - ONE


def pooled(clients: Sequence[LikelihoodSums]) -> LikelihoodSums:
    """All clients as one, which nothing is left out of."""
    return sum(clients, LikelihoodSums())


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("wrong", [0, 5, 12])
def test_one_client_moves_the_temperature_a_factor_of_two_further_from_1_than_the_others_do(
    wrong: int, lie: str
) -> None:
    honest = [binary([0.8, 0.9] * 20, wrong + more) for more in range(4)]
    limit = steps(LARGEST_STEP)
    assert pytest.approx(2, abs=0.01) == LARGEST_STEP
    alone = steps(chosen([pooled(honest)]))
    found = steps(chosen([*honest, LIES[lie]]))
    assert min(alone, 0) - limit <= found <= max(alone, 0) + limit


def test_without_that_bound_it_would() -> None:
    honest = [binary([0.8, 0.9] * 20, 5) for _ in range(4)]
    both = [*honest, LIES["impossible but at the hottest"]]
    assert chosen([pooled(both)]) == LIKELIHOOD_GRID[-1]
    assert chosen(both) < 3


def test_where_clients_say_nothing_the_spread_is_a_factor_of_e() -> None:
    assert spread([binary([0.5] * 20, 10)]) == 1.0


def test_clients_of_one_temperature_have_a_small_spread_and_others_a_large_one() -> None:
    alike = [client(0.5, 400, seed) for seed in range(60)]
    apart = [client(0.5 * 2.5 ** (-1) ** seed, 400, seed) for seed in range(60)]
    assert spread(alike) < 0.25
    assert spread(apart) == pytest.approx(np.log(2.5), rel=0.3)


def test_the_more_clients_the_smaller_the_spread_that_they_can_show() -> None:
    found = [spread([client(0.5, 400, seed) for seed in range(n)]) for n in (3, 20, 100)]
    assert found == sorted(found, reverse=True)
    assert found[0] > 1.5 * found[-1]


@pytest.mark.parametrize("lie", LIES)
def test_no_client_makes_the_spread_larger_than_1(lie: str) -> None:
    assert spread([*(client(0.5, seed=seed) for seed in range(4)), LIES[lie]]) <= 1


@pytest.mark.parametrize(("value", "right"), [(0.05, True), (1, True), (0, False), (11.0, False), (True, False)])
def test_what_can_be_a_spread(value: object, right: bool) -> None:
    assert is_spread(value) is right
    assert not is_spread("1")
    assert not is_spread(float("nan"))


def test_a_temperature_is_one_of_the_grid() -> None:
    found = choose_temperature([client(0.7)])
    assert found is not None
    assert found.value in LIKELIHOOD_GRID
    assert found != replace(found, spread=0.5)
