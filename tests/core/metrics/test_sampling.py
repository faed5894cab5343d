"""Standard errors of metrics on drawn clients: those that drawing again and again would show."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from pfedgp_core.metrics.sampling import sampling_errors


@dataclass
class Sums:
    n: int = 0
    correct: int = 0

    def __add__(self, other: "Sums") -> "Sums":
        return Sums(self.n + other.n, self.correct + other.correct)


def accuracy(sums: Sums) -> float | None:
    return sums.correct / sums.n if sums.n else None


METRICS = {"accuracy": accuracy}
EQUAL = [Sums(10, correct) for correct in (3, 9, 7, 7, 10)]


def test_of_clients_of_one_size_it_is_that_of_a_mean_of_some_of_all() -> None:
    shares = [sums.correct / sums.n for sums in EQUAL]
    wanted = math.sqrt((1 - 5 / 20) * np.var(shares, ddof=1) / 5)
    assert sampling_errors(METRICS, EQUAL, Sums(), 20)["accuracy"] == pytest.approx(wanted, rel=1e-12)


def test_where_all_were_drawn_there_is_none() -> None:
    assert sampling_errors(METRICS, EQUAL, Sums(), 5) == {"accuracy": 0.0}


@pytest.mark.parametrize("parts", [[], EQUAL[:1]])
def test_one_client_tells_nothing_of_the_others(parts: list[Sums]) -> None:
    assert sampling_errors(METRICS, parts, Sums(), 20) == {}


def test_a_metric_that_some_client_alone_has_no_error() -> None:
    assert sampling_errors(METRICS, [Sums(), Sums(4, 1)], Sums(), 20) == {}


def test_it_is_the_deviation_that_drawing_again_shows() -> None:
    rng = np.random.default_rng(0)
    sizes = rng.integers(5, 60, size=200)
    clients = [Sums(int(n), int(rng.binomial(n, p))) for n, p in zip(sizes, rng.beta(4, 1, size=200), strict=True)]
    values, squares = [], []
    for _ in range(400):
        drawn = [clients[i] for i in rng.choice(200, size=40, replace=False)]
        values.append(accuracy(sum(drawn, Sums())))
        squares.append(sampling_errors(METRICS, drawn, Sums(), 200)["accuracy"] ** 2)
    assert math.sqrt(np.mean(squares)) == pytest.approx(float(np.std(values)), rel=0.15)
