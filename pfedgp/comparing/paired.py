"""The difference of two runs at each client: its mean, and how far other clients could move it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from pfedgp_core.metrics.intervals import LEVEL

__all__ = ["Paired", "paired"]


@dataclass(frozen=True)
class Paired:
    """One metric of two runs, client by client.

    Attributes
    ----------
    mean : float
        Of the clients' differences, second run minus first; every client counts one.
    low, high : float or None
        Ends of Student's 95 % interval of the mean, for clients that are drawn like these; None for one client.
    higher, equal, lower : int
        Clients by the sign of their difference.
    """

    mean: float
    low: float | None
    high: float | None
    higher: int
    equal: int
    lower: int

    @property
    def clients(self) -> int:
        """Clients with a value in both runs."""
        return self.higher + self.equal + self.lower


def paired(first: Mapping[str, float], second: Mapping[str, float]) -> Paired | None:
    """Compare one metric at the clients that have it in both runs; None where there are none.

    Parameters
    ----------
    first, second : mapping
        Value by the client's name.
    """
    names = sorted(first.keys() & second.keys())
    if not names:
        return None
    differences = np.array([second[name] - first[name] for name in names])
    n, mean = len(names), float(differences.mean())
    signs = [int((differences > 0).sum()), int((differences == 0).sum()), int((differences < 0).sum())]
    if n == 1:
        return Paired(mean, None, None, *signs)
    half = float(student.ppf(0.5 + LEVEL / 2, n - 1)) * float(differences.std(ddof=1)) / math.sqrt(n)
    return Paired(mean, mean - half, mean + half, *signs)
