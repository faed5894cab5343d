r"""The progressive certificate: classifiers of the first t samples, each tested on the samples after them.

The samples are put in an order that was fixed before their labels were looked at. For t from n / 2 on (n / 4 about a
shared head, see `Plan`), h_t is the classifier of the first t samples, and is tested on the next one.
`mixture_martingale` bounds the mean of the true errors of the h_t with probability 1 - delta_1. The deployed classifier
h_n errs where some h_t errs, or where it answers otherwise, so

.. math::
    R(h_n) \le \operatorname{mean}_t R(h_t) + E_u \operatorname{mean}_t 1[h_t(u) \ne h_n(u)].

The second term needs no labels: its mean over m independent inputs u, which nothing else was done with, is a mean of
independent values in [0, 1], and the inverse kl with log(1 / delta_2) / m bounds it with probability 1 - delta_2
(Hoeffding 1963). delta_1 = .8 delta and delta_2 = .2 delta. No prior, no price for classes or trees, no condition on
the kernel or the variant: any function from samples to a classifier will do.

Where samples belong to groups, such as patients, n counts groups, each step tests whole groups, and 1[...] is the share
of a group's samples: a number in [0, 1], for which both bounds hold by convexity (Hoeffding 1963).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pfedgp_core.certificate.groups import counted_groups, independence, means_of_groups
from pfedgp_core.certificate.levels import require_level
from pfedgp_core.certificate.mixture_martingale import mixture_bound
from pfedgp_core.certificate.pac_bayes import kl_inverse
from pfedgp_core.errors import ConfigError, DataError

__all__ = [
    "ABOUT_A_HEAD",
    "Answers",
    "Plan",
    "Progress",
    "ProgressiveCertificate",
    "bound_progress",
    "disagreement_bound",
    "progress",
    "unlabelled_condition",
]

LABELLED_SHARE = 0.8  # of delta, where there are unlabelled inputs
FITS = 64  # classifiers at most; with more steps, each is tested on several samples

FITTED = "The samples that the classifier was fitted on"
CONDITIONS = (
    (
        "Network, shared head, kernel, inducing inputs, normalisation constants and settings were fixed without these "
        "samples: no training, no model selection and no choice between certificates on them."
    ),
    "Future samples come from the same population; a sample of a class that the site lacks counts as an error.",
    "delta covers this certificate alone, not others, such as an earlier one on fewer samples.",
)

Answers = Callable[[np.ndarray], np.ndarray]


class Plan(NamedTuple):
    """Which classifiers are tested on the way; fixed before the samples are looked at.

    Attributes
    ----------
    share : float
        Of the samples, or groups: the first classifier has so many. Fewer leave more to be tested; but the first
        classifiers err more, lack classes, and differ more from the deployed one.
    fits : int
        Number of classifiers at most. Samples between two of them are tested on the earlier one.
    """

    share: float = 0.5
    fits: int = FITS


ABOUT_A_HEAD = Plan(share=0.25)  # with what the federation knows, few samples make a classifier near the deployed one


class Progress(NamedTuple):
    """What the classifiers on the way to the deployed one did.

    Attributes
    ----------
    errors : float
        Wrong answers to the next samples; of groups, the sum of their shares of wrong answers.
    steps : int
        How many samples, or groups, were tested.
    disagreement : float or None
        Mean share of unlabelled inputs that a classifier on the way answers otherwise than the deployed one.
    unlabelled : int
        Unlabelled inputs, or their groups.
    """

    errors: float
    steps: int
    disagreement: float | None
    unlabelled: int


@dataclass(frozen=True)
class ProgressiveCertificate:
    """Bounds on the error of the classifiers on the way, and of the deployed one.

    Attributes
    ----------
    progress : Progress
    n : int
        Samples of the deployed classifier, or groups where these count.
    on_the_way : float
        At least the mean true error of the classifiers on the way.
    disagreement : float
        At least their mean disagreement with the deployed one on new inputs; 1 without unlabelled inputs.
    deployed : float
        At least the true error of the deployed classifier, the sum of both; 1 without unlabelled inputs.
    delta : float
    samples : int or None
        Samples of the n groups; None where samples count.
    """

    progress: Progress
    n: int
    on_the_way: float
    disagreement: float
    deployed: float
    delta: float
    samples: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, lists and texts, fit for JSON."""
        errors, steps, disagreement, unlabelled = self.progress
        rate = errors / steps
        grouped = self.samples is not None
        conditions = [independence(FITTED, grouped), *CONDITIONS]
        if unlabelled:
            conditions.insert(1, unlabelled_condition(grouped))
        return {
            "method": "progressive",
            **counted_groups(self.n, self.samples),
            "delta": self.delta,
            "tested": steps,
            "unlabelled": unlabelled,
            "deployed": {
                "empirical": None if disagreement is None else min(1.0, rate + disagreement),
                "bound": self.deployed,
            },
            "on_the_way": {"empirical": rate, "errors": errors, "bound": self.on_the_way},
            "disagreement": {"empirical": disagreement, "bound": self.disagreement},
            "conditions": conditions,
        }


def progress(
    fit: Callable[[np.ndarray], Answers],
    features: np.ndarray,
    labels: np.ndarray,
    order: np.ndarray,
    deployed: Answers,
    unlabelled: np.ndarray | None = None,
    plan: Plan = Plan(),  # noqa: B008 - it cannot be changed
    groups: np.ndarray | None = None,
    unlabelled_groups: np.ndarray | None = None,
) -> Progress:
    """Fit and test the classifiers on the way.

    Parameters
    ----------
    fit : callable
        Rows of the samples, int64 ascending -> a classifier of these alone: features [m, d] -> labels [m].
    features, labels : arrays [n, d] and [n]
        Of all samples.
    order : array [G]
        A permutation of the groups' numbers that does not depend on the samples; without groups of 0..n-1.
    deployed : callable
        The classifier that is certified: features [m, d] -> labels [m].
    unlabelled : array [m, d], optional
        Features of further inputs.
    plan : Plan
    groups, unlabelled_groups : arrays [n] and [m], optional
        The number of each sample's and input's group, 0..G-1 and any; default: each is one by itself.

    Raises
    ------
    DataError
        Fewer than two samples or groups, or an order that is none.
    """
    units = np.arange(len(labels)) if groups is None else groups
    n = len(set(units.tolist()))
    if n < 2 or not len(features) == len(labels) == len(units) or sorted(order.tolist()) != sorted(set(units.tolist())):
        raise DataError(
            f"{len(labels)} labels of {n} groups, {len(features)} rows of features and an order of {len(order)} are no "
            "samples to test one after the other: give at least two groups, and a permutation of them."
        )
    start = max(1, int(n * plan.share))
    bounds = np.unique(np.linspace(start, n, min(plan.fits, n - start) + 1).round().astype(int))
    final = None if unlabelled is None or not len(unlabelled) else deployed(unlabelled)
    inputs = np.arange(0 if final is None else len(final)) if unlabelled_groups is None else unlabelled_groups
    errors, disagreement = 0.0, 0.0
    for first, last in pairwise(bounds.tolist()):
        answers = fit(np.flatnonzero(np.isin(units, order[:first])))
        tested = np.flatnonzero(np.isin(units, order[first:last]))
        errors += float(means_of_groups(answers(features[tested]) != labels[tested], units[tested]).sum())
        if unlabelled is not None and final is not None:
            differs = means_of_groups(answers(unlabelled) != final, inputs)
            disagreement += float(differs.mean()) * (last - first)
    steps = n - start
    if final is None:
        return Progress(errors, steps, None, 0)
    return Progress(errors, steps, disagreement / steps, len(set(inputs.tolist())))


def bound_progress(found: Progress, n: int, delta: float = 0.01, samples: int | None = None) -> ProgressiveCertificate:
    """The certificate of what `progress` has counted.

    Parameters
    ----------
    found : Progress
    n : int
        Samples of the deployed classifier; with groups their number.
    delta : float
    samples : int, optional
        Samples of the n groups.

    Raises
    ------
    ConfigError
        delta outside (0, 1).
    """
    if found.disagreement is None:
        on_the_way = mixture_bound(found.errors, found.steps, delta)
        return ProgressiveCertificate(found, n, on_the_way, 1.0, 1.0, delta, samples)
    on_the_way = mixture_bound(found.errors, found.steps, LABELLED_SHARE * delta)
    apart = disagreement_bound(found.disagreement, found.unlabelled, (1 - LABELLED_SHARE) * delta)
    return ProgressiveCertificate(found, n, on_the_way, apart, min(1.0, on_the_way + apart), delta, samples)


def unlabelled_condition(grouped: bool) -> str:
    """What must hold of the unlabelled inputs, or of their groups."""
    who = "The groups of the unlabelled inputs are none of the site's, but" if grouped else "The unlabelled inputs are"
    return (
        f"{who} independent draws from the same population, and were used for nothing else; any number of them will "
        "do, but nobody chose them by what the classifier answers."
    )


def disagreement_bound(mean: float, m: int, delta: float) -> float:
    """Upper bound on the expectation of independent values in [0, 1] from the mean of m, with probability 1 - delta.

    Raises
    ------
    ConfigError
        m below 1, or delta outside (0, 1).
    """
    if m < 1:
        raise ConfigError(f"m = {m} is too small; a bound needs at least one unlabelled input.")
    require_level("delta", delta)
    return float(kl_inverse(min(1.0, mean), -math.log(delta) / m))
