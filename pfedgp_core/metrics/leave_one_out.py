"""The temperature that a classifier's own training samples choose, each predicted from all others."""

import numpy as np

from pfedgp_core.metrics.calibration import TEMPERATURE_LIMITS
from pfedgp_core.metrics.likelihood import tempered_log_likelihoods

__all__ = ["leave_one_out_temperature"]

_FACTORS = np.geomspace(1 / 20, 20, 121)  # of the temperature that is there; its middle is 1


def leave_one_out_temperature(
    log_probabilities: np.ndarray, columns: np.ndarray, centre: float = 1.0, spread: float = 1.0
) -> float:
    """Return the T that maximises sum_i log softmax(log p_i / T)[y_i] - (log T - log centre)^2 / (2 spread^2).

    The second term is the prior of a client's temperature. Without it, a few samples that are all right would ask for
    the sharpest temperature; with it, samples that say nothing leave `centre`.

    Parameters
    ----------
    log_probabilities : float [N, k]
        Of every sample given all others; see ``PersonalClassifier.leave_one_out_log_proba``.
    columns : int [N]
        Column of each sample's class.
    centre : float
        The temperature that is known without these samples.
    spread : float
        Standard deviation of log T among clients; 1 is a factor of e.
    """
    low, high = TEMPERATURE_LIMITS
    temperatures = np.clip(_FACTORS * centre, low, high)
    likelihoods = tempered_log_likelihoods(log_probabilities, columns, temperatures.tolist())
    return float(temperatures[int(np.argmax(likelihoods - (np.log(_FACTORS) / spread) ** 2 / 2))])
