"""The scores by which a site watches new samples: entropy of the prediction, and distance from the site's samples."""

import numpy as np

from pfedgp_core.site.saved import SavedSite
from pfedgp_core.site.typicality import Typicality

__all__ = ["new_scores", "own_scores"]


def own_scores(site: SavedSite) -> np.ndarray:
    """Of the site's samples, each from all others, float64 [2, n]; raises as ``leave_one_out_log_proba``.

    Equal samples count once in the distance, so that each row is cut to the shorter one; rows are used by themselves.
    """
    logs = site.classifier.leave_one_out_log_proba()
    logs = logs - np.logaddexp.reduce(logs, axis=1, keepdims=True)
    entropy = -(np.exp(logs) * logs).sum(axis=1)
    distance = Typicality.of(site).left_out
    n = min(len(entropy), len(distance))
    return np.stack([entropy[:n], distance[np.linspace(0, len(distance) - 1, n).astype(int)]])


def new_scores(site: SavedSite, inputs: np.ndarray) -> np.ndarray:
    """Of new inputs, float64 [2, T]."""
    features = site.features(inputs)
    return np.stack([site.predict_features(features).entropy, Typicality.of(site).scores(features)])
