"""Temperature scaling of class probabilities, and the paper's rule for the temperature."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.metrics.classification import BINS, checked_probabilities, metric_sums
from pfedgp_core.metrics.ece import expected_calibration_error

__all__ = ["TEMPERATURE_GRID", "best_temperature", "temperature_scale"]

TEMPERATURE_GRID = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0)


def temperature_scale(probabilities: ArrayLike, temperature: float) -> np.ndarray:
    """Return softmax(log p / T), float64 [N, K]; p = 0 stays 0.

    Raises
    ------
    ConfigError
        T is not a positive finite number.
    DataError
        Rows that are no probabilities.
    """
    if not (np.isfinite(temperature) and temperature > 0):
        raise ConfigError(f"temperature = {temperature} is not a positive finite number; give for example 1.0.")
    p = checked_probabilities(probabilities)
    if not p.size:
        return p
    with np.errstate(divide="ignore"):
        scaled = np.log(p) / temperature
    powers = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    tempered: np.ndarray = powers / powers.sum(axis=1, keepdims=True)
    return tempered


def best_temperature(
    probabilities: ArrayLike, labels: ArrayLike, grid: Sequence[float] = TEMPERATURE_GRID, bins: int = BINS
) -> float:
    """Return the temperature of the grid with the smallest ECE, the first of equals (paper's grid and rule).

    Raises
    ------
    DataError
        No sample, or probabilities and labels that ``metric_sums`` refuses.
    ConfigError
        An empty grid, or a temperature that is not positive.
    """
    if not len(grid):
        raise ConfigError("The temperature grid is empty; give at least one positive temperature.")
    at = [metric_sums(temperature_scale(probabilities, t), labels, bins) for t in grid]
    if not at[0].n:
        raise DataError("There is no sample to choose a temperature on; give validation data.")
    errors = [expected_calibration_error(sums) for sums in at]
    return float(grid[int(np.argmin(errors))])
