"""A certificate from samples that were kept out of everything: exact, for any classifier and any client.

No prior and no KL: given the classifier, the errors on n independent samples are Binomial(n, true error), whatever was
trained on whose data, as long as these samples were not.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pfedgp_core.certificate.binomial_bound import clopper_pearson
from pfedgp_core.certificate.groups import counted_groups, independence
from pfedgp_core.errors import DataError

__all__ = ["HeldOutCertificate", "certify_held_out"]

HELD_OUT = "The held-out samples"
NO_GROUP = " None of the groups is one that the classifier was fitted on, or that helped to train the model."
CONDITIONS = (
    (
        "They were used for nothing else: not to train or select the model, not to fit this classifier, and not to "
        "decide whether or what to certify."
    ),
    "Future samples come from the same population; a sample of a class that the classifier lacks counts as an error.",
    "delta covers this bound alone, not those of other certificates.",
)


@dataclass(frozen=True)
class HeldOutCertificate:
    """Upper bound on a classifier's error.

    Attributes
    ----------
    errors, n : int
        On the held-out samples; of groups, on one sample of each.
    bound : float
        At least the true error with probability 1 - delta.
    delta : float
    samples : int or None
        Held-out samples of the n groups; None where samples count.
    """

    errors: int
    n: int
    bound: float
    delta: float
    samples: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and texts, fit for JSON."""
        grouped = self.samples is not None
        return {
            "method": "held-out",
            **counted_groups(self.n, self.samples),
            "delta": self.delta,
            "deployed": {"empirical": self.errors / self.n, "errors": self.errors, "bound": self.bound},
            "conditions": [independence(HELD_OUT, grouped) + (NO_GROUP if grouped else ""), *CONDITIONS],
        }


def certify_held_out(
    predicted: ArrayLike, labels: ArrayLike, delta: float = 0.01, samples: int | None = None
) -> HeldOutCertificate:
    """Bound the error of a classifier from its answers to held-out samples.

    Parameters
    ----------
    predicted, labels : array [n]
        Class labels of any one type.
    delta : float
    samples : int, optional
        Where answers and labels are those of one sample of each group: how many samples the groups have in all.

    Raises
    ------
    DataError
        No samples, or lengths that differ.
    ConfigError
        delta outside (0, 1).
    """
    given, truth = np.asarray(predicted), np.asarray(labels)
    if given.shape != truth.shape or given.ndim != 1 or not len(given):
        raise DataError(f"There are {given.shape} answers and {truth.shape} labels: give one of each per sample.")
    errors = int((given != truth).sum())
    return HeldOutCertificate(errors, len(given), clopper_pearson(errors, len(given), delta), delta, samples)
