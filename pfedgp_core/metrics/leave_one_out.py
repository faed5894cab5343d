"""The temperature that a classifier's own training samples choose, each predicted from all others."""

import numpy as np

from pfedgp_core.metrics.calibration import TEMPERATURE_LIMITS

__all__ = ["leave_one_out_temperature"]

_FACTORS = np.geomspace(1 / 20, 20, 121)  # of the temperature that is there; its middle is 1
_SMALLEST = 1e-12  # a sample's log-likelihood is at least the logarithm of this, as in the NLL


def leave_one_out_temperature(log_probabilities: np.ndarray, columns: np.ndarray, centre: float = 1.0) -> float:
    """Return the temperature T that maximises sum_i log softmax(log p_i / T)[y_i] - (log T - log centre)^2 / 2.

    The second term is a prior whose standard deviation is a factor of e. Without it, a few samples that are all right
    would ask for the sharpest temperature; with it, samples that say nothing leave `centre`.

    Parameters
    ----------
    log_probabilities : float [N, k]
        Of every sample given all others; see ``PersonalClassifier.leave_one_out_log_proba``.
    columns : int [N]
        Column of each sample's class.
    centre : float
        The temperature that is known without these samples.
    """
    low, high = TEMPERATURE_LIMITS
    temperatures = np.clip(_FACTORS * centre, low, high)
    scores = [
        _log_likelihood(log_probabilities / temperature, columns) - np.log(factor) ** 2 / 2
        for temperature, factor in zip(temperatures, _FACTORS, strict=True)
    ]
    return float(temperatures[int(np.argmax(scores))])


def _log_likelihood(logits: np.ndarray, columns: np.ndarray) -> float:
    """Sum of log softmax(logits)[columns] over the rows [N, k]."""
    top = logits.max(axis=1, keepdims=True)
    totals = top[:, 0] + np.log(np.exp(logits - top).sum(axis=1))
    own = logits[np.arange(len(logits)), columns] - totals
    return float(np.maximum(own, np.log(_SMALLEST)).sum())
