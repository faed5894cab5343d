"""Input moments as they count in the normalisation of all sites: no site moves it far, whatever it claims.

Of each feature, c is the median of the sites' means and s the usual spread, the larger one of the lower median of their
deviations and the median of |mean - c|. A site counts with its mean cut to c +- 3 s and its deviation to 3 s. Honest
sites are seldom beyond that. Features that are constant at half of the sites have no usual spread and stay as they are.
"""

from collections.abc import Sequence

import numpy as np

from pfedgp_core.wire.hello import Hello
from server.clients.value_ranges import comparable, feature_text

__all__ = ["SMALLEST_SPREAD", "bounded_moments", "far_moments", "usual_moments"]

REACH = 3.0  # usual spreads
TOLD_FROM = 30.0  # usual spreads from which a site's operator should look at its data
SMALLEST_SPREAD = 1e-7  # of a mean, in float32; a feature with less is constant


def bounded_moments(hellos: Sequence[Hello]) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations with which sites count, each [S, D] or [S, C].

    Parameters
    ----------
    hellos : sequence of Hello
        Of S sites with training data of one shape. Those of images of a bounded range, and of fewer than three sites,
        are as claimed.
    """
    means, stds = _claimed(hellos)
    if not _comparable(hellos):
        return means, stds
    centre, spread, usual = usual_moments(means, stds)
    reach = np.where(usual > SMALLEST_SPREAD * np.abs(centre), REACH * spread, np.inf)
    return np.clip(means, centre - reach, centre + reach), np.minimum(stds, reach)


def usual_moments(means: np.ndarray, stds: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centre, spread and usual deviation of each feature, [D] each, from the moments of S sites, [S, D] each."""
    centre = np.median(means, axis=0)
    usual = np.sort(stds, axis=0)[(len(stds) - 1) // 2]
    return centre, np.maximum(usual, np.median(np.abs(means - centre), axis=0)), usual


def far_moments(hellos: Sequence[Hello]) -> list[str]:
    """Say which sites are so far from the others that somebody should look at their data; empty where none is.

    Parameters
    ----------
    hellos : sequence of Hello
        Of sites with training data of one shape.
    """
    if not _comparable(hellos):
        return []
    means, stds = _claimed(hellos)
    centre, spread, usual = usual_moments(means, stds)
    away = np.maximum(np.abs(means - centre), stds)
    far = (away > TOLD_FROM * spread) & (usual > SMALLEST_SPREAD * np.abs(centre))
    if len(hellos[0].input_shape) == 3:  # images normalised beforehand hide among those of the unit
        far |= (stds > 0) & (TOLD_FROM * stds < spread)
    return [
        f"{hello.name} is far from the other sites in {feature_text(f, hello)} (mean {mean[f]:g} and "
        f"deviation {std[f]:g} there, {centre[f]:g} and {usual[f]:g} usually): check its units. The common "
        "normalisation counts it as nearer"
        for hello, mean, std, there in zip(hellos, means, stds, far, strict=True)
        if there.any()
        for f in [int(np.argmax(there))]
    ]


def _comparable(hellos: Sequence[Hello]) -> bool:
    """Whether sites can be held against each other: tables, and images of a unit, of three or more."""
    return len(hellos) >= 3 and comparable(hellos[0])


def _claimed(hellos: Sequence[Hello]) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations as the sites claim them, each [S, D] or [S, C]."""
    return np.array([hello.mean for hello in hellos], float), np.array([hello.std for hello in hellos], float)
