"""Checks of the input moments that sites report: whether they can be true, and whether all are on one scale.

One normalisation serves all sites, so that one site in other units, or one that lies, could ruin it for the others.
"""

from collections.abc import Sequence

import numpy as np

from pfedgp_core.data.spec import LARGEST_INPUT, DataSpec
from pfedgp_core.data.usual_moments import FEWEST_SITES, SMALLEST_SPREAD, usual_moments
from pfedgp_core.wire.hello import Hello
from server.clients.bounded_moments import far_moments
from server.clients.columns import aligned, usual_columns
from server.clients.grey_values import inverted_doubts
from server.clients.value_ranges import comparable, feature_text

__all__ = ["HOPELESS_SCALE", "impossible_moments", "off_scale", "on_another_scale", "scale_doubts"]

OTHER_SCALE = 1e3  # times the usual spread of a feature
HOPELESS_SCALE = 1e6  # the same for a site that comes later, whose rare values may be honest
ROUNDING = 1e-6


def impossible_moments(hello: Hello) -> str:
    """Say which moments cannot be those of inputs; empty where none. Images of a bounded range are in [0, 1]."""
    if not comparable(hello):
        if any(not -ROUNDING <= x <= 1 + ROUNDING for x in hello.mean) or any(x > 0.5 + ROUNDING for x in hello.std):
            return (
                f"{hello.name} sends moments that images cannot have (mean {_values(hello.mean)}, deviation "
                f"{_values(hello.std)}): run the same pfedgp version on both sides."
            )
    elif large := [
        i for i, both in enumerate(zip(hello.mean, hello.std, strict=True)) if _largest(both) > LARGEST_INPUT
    ]:
        return (
            f"{hello.name} has values beyond {LARGEST_INPUT:g} in {feature_text(large[0], hello)}: rescale it, "
            "or remove codes for missing values."
        )
    return ""


def on_another_scale(hellos: Sequence[Hello]) -> dict[str, str]:
    """Find sites whose vectors are far from those of most others; none if fewer than three can be compared.

    Features that are constant at half of the sites or more have no usual spread, and do no harm.

    Parameters
    ----------
    hellos : sequence of Hello
        Of sites with inputs of one shape.

    Returns
    -------
    dict of str to str
        A reason by the site's name.
    """
    holders = _holders(hellos)
    if len(holders) < FEWEST_SITES:
        return {}
    means, stds = _moments(holders)
    centre, spread, usual = usual_moments(means, stds)
    far = np.maximum(np.abs(means - centre), stds) > OTHER_SCALE * spread
    far &= usual > SMALLEST_SPREAD * np.abs(centre)
    return {
        hello.name: (
            f"{hello.name}'s inputs are on another scale than the other sites': {feature_text(f, hello)} has "
            f"mean {mean[f]:g} and deviation {std[f]:g} there, {centre[f]:g} and {usual[f]:g} usually; check the units."
        )
        for hello, mean, std, there in zip(holders, means, stds, far, strict=True)
        if there.any()
        for f in [int(np.argmax(there))]
    }


def off_scale(hello: Hello, spec: DataSpec, times: float = OTHER_SCALE) -> str:
    """Say in which feature a site that comes later is far from the federation's normalisation; empty where in none.

    Parameters
    ----------
    hello : Hello
    spec : DataSpec
    times : float
        How many of the federation's standard deviations are far.
    """
    if not hello.n_train or not comparable(hello):
        return ""
    hello = aligned(hello, spec.columns)
    mean, std, centre, usual = map(np.array, (hello.mean, hello.std, spec.mean, spec.std))
    far = (np.maximum(np.abs(mean - centre), std) > times * usual) & (usual > SMALLEST_SPREAD * np.abs(centre))
    if not far.any():
        return ""
    f = int(np.argmax(far))
    what = feature_text(f, hello, spec.columns)
    return (
        f"{hello.name}'s inputs are on another scale than the federation's: {what} has mean "
        f"{mean[f]:g} and deviation {std[f]:g} there, {centre[f]:g} and {usual[f]:g} in the federation; check the "
        "units."
    )


def scale_doubts(hellos: Sequence[Hello]) -> list[str]:
    """Say whose units or grey values somebody should look at before round 1; empty where nobody's."""
    doubts, holders = inverted_doubts(hellos), _holders(hellos)
    if len({len(hello.mean) for hello in holders}) > 1:
        return doubts  # their columns differ, with which no federation begins
    if len(holders) != 2:
        return doubts + far_moments(holders)
    doubt = _two_scales(holders)
    return [*doubts, doubt] if doubt else doubts


def _two_scales(holders: Sequence[Hello]) -> str:
    """Say in which feature two sites differ so much that one of them has other units; empty where in none."""
    means, stds = _moments(holders)
    apart = np.maximum(np.abs(means[0] - means[1]), stds.max(axis=0)) > OTHER_SCALE * stds.min(axis=0)
    apart &= stds.min(axis=0) > SMALLEST_SPREAD * np.abs(means).min(axis=0)
    if not apart.any():
        return ""
    f = int(np.argmax(apart))
    told = " and ".join(
        f"{hello.name} (mean {mean[f]:g}, deviation {std[f]:g})"
        for hello, mean, std in zip(holders, means, stds, strict=True)
    )
    what = feature_text(f, holders[0], usual_columns(holders))
    return f"{what} is on different scales at {told}: check the units of both sites"


def _holders(hellos: Sequence[Hello]) -> list[Hello]:
    """Sites with training vectors, all with their columns in one order, or with images of a unit."""
    columns = usual_columns(hellos)
    return [aligned(hello, columns) for hello in hellos if hello.n_train and comparable(hello)]


def _moments(hellos: Sequence[Hello]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([hello.mean for hello in hellos]), np.array([hello.std for hello in hellos])


def _largest(values: Sequence[float]) -> float:
    return max(map(abs, values))


def _values(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values[:3])
