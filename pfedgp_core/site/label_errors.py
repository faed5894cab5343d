"""Samples of a site whose label the others contradict: each is predicted from all others, so its own label has no say.

A sample is the more suspicious the smaller the probability of its own class is there (temperature 1). Where the site
took part in the training, its features have learned the wrong labels too, and errors are harder to see.
"""

from dataclasses import dataclass

import numpy as np

from pfedgp_core.errors import ConfigError
from pfedgp_core.metrics.own_classes import label_columns
from pfedgp_core.site.saved import SavedSite

__all__ = ["Suspects", "suspects"]


@dataclass(frozen=True)
class Suspects:
    """All samples of a site, the most suspicious first.

    Attributes
    ----------
    rows : numpy.ndarray, int64 [N]
        Places among the site's samples.
    probability : numpy.ndarray, float64 [N]
        Of the sample's own class, given all others.
    likeliest : numpy.ndarray, int64 [N]
        Class id that the others make most probable.
    """

    rows: np.ndarray
    probability: np.ndarray
    likeliest: np.ndarray

    @property
    def contradicted(self) -> int:
        """How many of them, the first ones, the others give less than half of the probability."""
        return int((self.probability < 0.5).sum())


def suspects(site: SavedSite) -> Suspects:
    """Rank the samples of a site.

    Raises
    ------
    ConfigError
        The site has one class, or its variant cannot leave a sample out.
    """
    classifier = site.classifier
    if len(classifier.classes_) < 2:
        raise ConfigError(
            f"The site {site.name!r} has one class, so that no label can contradict another: give a site of several "
            "classes."
        )
    if not classifier.leaves_one_out:
        raise ConfigError(
            f"The variant of the site {site.name!r} cannot predict a sample from all others, so its labels cannot be "
            "checked: make the site from a model whose variant keeps all points, such as full."
        )
    logs = classifier.leave_one_out_log_proba()
    probabilities = np.exp(logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))
    own = probabilities[np.arange(len(logs)), label_columns(classifier.classes_, site.samples.labels)]
    order = np.argsort(own, kind="stable")
    return Suspects(order, own[order], classifier.classes_[probabilities.argmax(axis=1)][order])
