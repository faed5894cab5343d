"""Log-likelihoods of samples at every temperature of a fine grid: sums of which the server chooses a temperature."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pfedgp_core.checks import MALFORMED, count, finite
from pfedgp_core.errors import DataError

__all__ = [
    "LIKELIHOOD_GRID",
    "SMALLEST",
    "LikelihoodSums",
    "are_possible",
    "read_sums",
    "tempered_log_likelihoods",
]

_BELOW_1 = 39
# 60 temperatures from 1/20 to 4.65, equally far from each other as logarithms but for three digits; one of them is 1.
LIKELIHOOD_GRID = tuple(float(f"{20.0 ** ((k - _BELOW_1) / _BELOW_1):.3g}") for k in range(60))
SMALLEST = 1e-12  # a sample's log-likelihood is at least the logarithm of this, as in the NLL


@dataclass(frozen=True)
class LikelihoodSums:
    """Sums over the samples of one client, by default over none.

    Parameters
    ----------
    n : int
        Samples.
    values : tuple of float
        Sum of log softmax(log p / T)[y] at every temperature T of ``LIKELIHOOD_GRID``, in its order.
    """

    n: int = 0
    values: tuple[float, ...] = (0.0,) * len(LIKELIHOOD_GRID)

    @classmethod
    def of(cls, log_probabilities: np.ndarray, columns: np.ndarray) -> "LikelihoodSums":
        """Sum over samples; arguments as in `tempered_log_likelihoods`."""
        return cls(len(columns), tuple(tempered_log_likelihoods(log_probabilities, columns, LIKELIHOOD_GRID).tolist()))

    def __add__(self, other: "LikelihoodSums") -> "LikelihoodSums":
        return LikelihoodSums(self.n + other.n, tuple(a + b for a, b in zip(self.values, other.values, strict=True)))

    def to_dict(self) -> dict[str, int | list[float]]:
        """Return plain numbers and lists."""
        return {"n": self.n, "values": list(self.values)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "LikelihoodSums":
        """Read what ``to_dict`` wrote.

        Raises
        ------
        DataError
            A field is missing or malformed, or the values are none that so many samples can have.
        """
        try:
            n, values = read_sums(fields)
        except MALFORMED as error:
            raise DataError(f"These are not likelihood sums ({type(error).__name__}).") from None
        if len(values) != len(LIKELIHOOD_GRID) or not are_possible(n, values):
            raise DataError(f"Likelihood sums of {n} samples contradict themselves.")
        return cls(n, values)


def read_sums(fields: Mapping[str, Any]) -> tuple[int, tuple[float, ...]]:
    """Samples and their sums of log-likelihoods, as ``to_dict`` wrote them; one of `MALFORMED` where they are none."""
    return count(fields["n"]), tuple(finite(value) for value in fields["values"])


def are_possible(n: int, values: Sequence[float]) -> bool:
    """Whether so many samples can have these sums of log-likelihoods, but for rounding."""
    least = np.log(SMALLEST) * n - 1e-6 * (1 + n)
    return all(least <= value <= 0 for value in values)


def tempered_log_likelihoods(
    log_probabilities: np.ndarray, columns: np.ndarray, temperatures: Sequence[float]
) -> np.ndarray:
    """Sum of log softmax(log p / T)[y] over samples, float64 [temperatures].

    Parameters
    ----------
    log_probabilities : float [N, k]
    columns : int [N]
        Column of each sample's class; -1 where it is none of them: such a sample has log 1e-12.
    temperatures : sequence of float
    """
    known = columns >= 0
    logs, own = log_probabilities[known], np.asarray(columns)[known]
    unknown = (len(columns) - len(own)) * np.log(SMALLEST)
    return np.array([unknown + _log_likelihood(logs / temperature, own) for temperature in temperatures])


def _log_likelihood(logits: np.ndarray, columns: np.ndarray) -> float:
    """Sum of log softmax(logits)[columns] over the rows [N, k]."""
    if not len(logits):
        return 0.0
    top = logits.max(axis=1, keepdims=True)
    totals = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
    own = logits[np.arange(len(logits)), columns] - totals
    return float(np.clip(own, np.log(SMALLEST), 0.0).sum())
