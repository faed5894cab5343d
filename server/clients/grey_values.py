"""Sites whose images are light where those of the others are dark: grey values that may be inverted."""

from collections.abc import Sequence

import numpy as np

from pfedgp_core.data.own.model_scale import looks_inverted
from pfedgp_core.wire.hello import Hello
from server.clients.value_ranges import comparable

__all__ = ["inverted_doubts"]


def inverted_doubts(hellos: Sequence[Hello]) -> list[str]:
    """Say whose images somebody should look at before round 1; empty where nobody's.

    Each site is held against the median of all, and of two sites against the other one.

    Parameters
    ----------
    hellos : sequence of Hello
        Of sites with inputs of one shape. Tables, and images of an open range, are compared by their scale.
    """
    there = [hello for hello in hellos if hello.own_data and hello.n_train and not comparable(hello)]
    if len(there) < 2 or len({len(hello.mean) for hello in there}) > 1:
        return []
    means = np.array([hello.mean for hello in there], float)
    if len(there) == 2:
        if not looks_inverted(*means):
            return []
        told = " and dark at ".join(
            f"{hello.name} (mean {mean.mean():.2f} of 0 to 1)"
            for mean, hello in sorted(zip(means, there, strict=True), key=lambda site: -site[0].mean())
        )
        return [f"The images are light at {told}: check whether the grey values of one are inverted"]
    usual = np.median(means, axis=0)
    return [
        f"{hello.name} has {'light' if mean.mean() > 0.5 else 'dark'} images (mean {mean.mean():.2f} of 0 to 1) and "
        f"the other sites have not ({usual.mean():.2f} usually): check whether its grey values are inverted"
        for hello, mean in zip(there, means, strict=True)
        if looks_inverted(mean, usual)
    ]
