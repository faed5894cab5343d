"""Predictions of a site's classifier on more samples than memory holds."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import torch

from pfedgp_core.data.own.samples import Samples
from pfedgp_core.site.explanation import Explainer, Explanations
from pfedgp_core.site.saved import ROWS, SavedSite
from pfedgp_core.site.typicality import Typicality
from pfedgp_core.tree.fitted import ROWS as TEST_ROWS
from pfedgp_core.tree.uncertainty import Prediction

__all__ = ["Predicted", "predictions"]


@dataclass(frozen=True)
class Predicted:
    """Predictions on some samples, without their inputs.

    Attributes
    ----------
    ids : tuple of str, length T
    labels : tuple of str, length T, or None
        As the data name them.
    prediction : Prediction
    typical : numpy.ndarray, float64 [T], or None
        How typical each is of the site's samples; None where that was not asked for.
    explanations : Explanations or None
        The training samples behind each answer; None where they were not asked for.
    """

    ids: tuple[str, ...]
    labels: tuple[str, ...] | None
    prediction: Prediction
    typical: np.ndarray | None = None
    explanations: Explanations | None = None

    def doubtful(self, confidence: float, typical: float = 0.0) -> np.ndarray:
        """Which largest probability, or share of samples as typical, is below these bounds; bool [T]."""
        unsure: np.ndarray = self.prediction.probabilities.max(axis=1) < confidence
        return unsure if self.typical is None else unsure | (self.typical < typical)


def predictions(
    site: SavedSite,
    blocks: Iterable[Samples],
    temperature: float | None = None,
    weights: np.ndarray | None = None,
    typicality: Typicality | None = None,
    explainer: Explainer | None = None,
) -> Iterator[Predicted]:
    """Predict samples that come in blocks of any size, with the bits of `SavedSite.predict` on all of them at once.

    The last bits of a matrix product depend on the number of its rows, so network and classifier get as many of them as
    they would there.

    Parameters
    ----------
    site : SavedSite
    blocks : iterable of Samples
        Of the model's shape.
    temperature : float, optional
        Of the probabilities; default: that of the model.
    weights : numpy.ndarray [k], optional
        Factors of the probabilities, see `pfedgp_core.site.prior`.
    typicality : Typicality, optional
        Of the site, where that of each sample is wanted.
    explainer : Explainer, optional
        Of the site, at the same temperature and weights, where the samples behind each answer are wanted.
    """

    def predicted() -> Predicted:
        parts = [group.labels for group, _ in waiting]
        labels = None if None in parts else tuple(label for part in parts for label in part or ())
        ids = tuple(one for group, _ in waiting for one in group.ids)
        features = torch.cat([features for _, features in waiting])
        found = site.predict_features(features, temperature)
        typical = None if typicality is None else typicality.shares(features)
        found = found if weights is None else found.reweighted(weights)
        explanations = None if explainer is None else explainer.explain(features, found.predicted)
        return Predicted(ids, labels, found, typical, explanations)

    waiting: list[tuple[Samples, torch.Tensor]] = []
    for group in _regrouped(blocks, ROWS):
        waiting.append((group, site.model.features(group.inputs)))
        if sum(len(group) for group, _ in waiting) >= TEST_ROWS:
            yield predicted()
            waiting = []
    if waiting:
        yield predicted()


def _regrouped(blocks: Iterable[Samples], rows: int) -> Iterator[Samples]:
    """The same samples, so many at a time; fewer in the last group."""
    rest: Samples | None = None
    for block in blocks:
        together = block if rest is None else rest.followed_by(block)
        full = len(together) - len(together) % rows
        for first in range(0, full, rows):
            yield together.between(first, first + rows)
        rest = together.between(full, len(together)) if full < len(together) else None
    if rest is not None:
        yield rest
