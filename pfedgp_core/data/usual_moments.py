"""Moments of several sites as they count: no site moves what is made of them far, whatever it claims.

Of each feature, c is the median of the sites' means and s the usual spread, the larger one of the lower median of their
deviations and the median of |mean - c|. A site counts with its mean cut to c +- 3 s and its deviation to 3 s. Honest
sites are seldom beyond that. Features that are constant at half of the sites have no usual spread and stay as they are.
"""

import numpy as np

__all__ = ["FEWEST_SITES", "REACH", "SMALLEST_SPREAD", "cut_moments", "usual_moments"]

FEWEST_SITES = 3  # below which nobody can say which of them is usual
REACH = 3.0  # usual spreads
SMALLEST_SPREAD = 1e-7  # of a mean, in float32; a feature with less is constant


def cut_moments(means: np.ndarray, stds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations with which S sites count, [S, D] each; as claimed where there are too few sites."""
    if len(means) < FEWEST_SITES:
        return means, stds
    centre, spread, usual = usual_moments(means, stds)
    reach = np.where(usual > SMALLEST_SPREAD * np.abs(centre), REACH * spread, np.inf)
    return np.clip(means, centre - reach, centre + reach), np.minimum(stds, reach)


def usual_moments(means: np.ndarray, stds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre, spread and usual deviation of each feature, [D] each, from the moments of S sites, [S, D] each."""
    centre = np.median(means, axis=0)
    usual = np.sort(stds, axis=0)[(len(stds) - 1) // 2]
    return centre, np.maximum(usual, np.median(np.abs(means - centre), axis=0)), usual
