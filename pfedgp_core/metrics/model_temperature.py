r"""The temperature that goes with a model, and how much it differs between clients, from sums of their likelihoods.

With L_c(T) the log-likelihood of client c's samples at temperature T (`likelihood`), the temperature is

.. math::
    T = \arg\max_T \sum_c w_c L_c(T) - \tfrac12 (\log T)^2

The second term is a prior, a factor of e either way. Without it, samples that are all right would ask for the sharpest
temperature, and the first mistake at a new site costs more than all right answers gain.

The spread s is that of log T among clients. Every client is a draw of N(log T, s^2), and s maximises

.. math::
    \sum_c \log \int N(x; \log T, s^2) \exp(w_c L_c(e^x)) dx - \log s - \frac{1}{2 s^2}

The last two terms are one more client, whose temperature is known and a factor of e away: where clients say nothing the
spread is 1, and no client, whatever it sends, makes it larger.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pfedgp_core.metrics.likelihood import LIKELIHOOD_GRID, LikelihoodSums
from pfedgp_core.metrics.pooled_choice import client_shares, pooled_place, telling

__all__ = ["LARGEST_STEP", "ModelTemperature", "choose_temperature", "is_spread"]

_LOGS = np.log(LIKELIHOOD_GRID)
_ONE = LIKELIHOOD_GRID.index(1.0)
_STEPS = 9
LARGEST_STEP = LIKELIHOOD_GRID[_ONE + _STEPS]  # a factor of 2.0, by which one client may move the temperature
_TINY = 1e-300
_SPREADS = np.geomspace(0.05, 1.0, 40)


@dataclass(frozen=True)
class ModelTemperature:
    """A model's temperature.

    Attributes
    ----------
    value : float
        One of ``LIKELIHOOD_GRID``.
    spread : float
        Standard deviation of its logarithm among clients, from 0.05 to 1.
    """

    value: float
    spread: float


def choose_temperature(clients: Sequence[LikelihoodSums]) -> ModelTemperature | None:
    """Return the temperature by the rule above, and its spread; None without a sample.

    A client counts with at most as many samples as the median one (`bounded_counts`). With three clients or more the
    rule is also applied without each of them. Of all results the one nearest to 1 (1 itself where some are above and
    some below it) and a factor of two beyond it is as far as the temperature may go: so no client moves it by more than
    that further from 1 than the others do without it. Clients whose likelihood no temperature changes, such as those
    with a single class, are left out.
    """
    if not any(sums.n for sums in clients):
        return None
    clients = [sums for sums in clients if telling(sums.n, sums.values)]
    if not clients:
        return ModelTemperature(1.0, 1.0)
    counts = [sums.n for sums in clients]
    likelihoods = np.array([sums.values for sums in clients])
    place = pooled_place(likelihoods, counts, -(_LOGS**2) / 2, _ONE, _STEPS)
    return ModelTemperature(LIKELIHOOD_GRID[place], _spread(client_shares(counts)[:, None] * likelihoods, _LOGS[place]))


def _spread(likelihoods: np.ndarray, centre: float) -> float:
    """The spread around log T = `centre`, for weighted likelihoods [clients, temperatures]."""
    # Shared over the whole grid, so that a spread that reaches beyond its ends loses nothing there.
    density = np.exp(-(((_LOGS - centre) / _SPREADS[:, None]) ** 2) / 2)
    prior = density / density.sum(axis=1, keepdims=True)
    mixed = np.exp(likelihoods - likelihoods.max(axis=1, keepdims=True)) @ prior.T  # [clients, spreads]
    scores = np.log(np.maximum(mixed, _TINY)).sum(axis=0) - np.log(_SPREADS) - 1 / (2 * _SPREADS**2)
    return float(_SPREADS[int(np.argmax(scores))])


def is_spread(value: object) -> bool:
    """Whether `value` can be the spread of a model's temperature: a number from 0.01 to 10."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0.01 <= value <= 10
