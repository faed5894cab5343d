"""Input moments as they count in the normalisation of all sites (`pfedgp_core.data.usual_moments`), and who is far."""

from collections.abc import Sequence

import numpy as np

from pfedgp_core.data.usual_moments import FEWEST_SITES, SMALLEST_SPREAD, cut_moments, usual_moments
from pfedgp_core.wire.hello import Hello
from server.clients.value_ranges import comparable, feature_text

__all__ = ["bounded_moments", "far_moments"]

TOLD_FROM = 30.0  # usual spreads from which a site's operator should look at its data


def bounded_moments(hellos: Sequence[Hello]) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations with which sites count, each [S, D] or [S, C].

    Parameters
    ----------
    hellos : sequence of Hello
        Of S sites with training data of one shape. Those of images of a bounded range, and of too few sites, are as
        claimed.
    """
    claimed = _claimed(hellos)
    return cut_moments(*claimed) if _comparable(hellos) else claimed


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
    """Whether sites can be held against each other: tables, and images of a unit, of enough sites."""
    return len(hellos) >= FEWEST_SITES and comparable(hellos[0])


def _claimed(hellos: Sequence[Hello]) -> tuple[np.ndarray, np.ndarray]:
    """Means and deviations as the sites claim them, each [S, D] or [S, C]."""
    return np.array([hello.mean for hello in hellos], float), np.array([hello.std for hello in hellos], float)
