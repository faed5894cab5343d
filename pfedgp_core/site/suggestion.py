r"""Which samples to label next: the most uncertain ones that tell different things.

A candidate's score is the entropy of its prediction times the variance that the kernel leaves it, given the site's
samples and the candidates that were chosen before:

.. math::
    H(x) \, \bigl( k(x, x) - k(x, A) \, (K_A + 4 I)^{-1} \, k(A, x) \bigr)

The choice is greedy. A label tells of a latent value what an observation with variance 4 tells at most: that is the
inverse mean of the Polya-Gamma variable at 0. So a chosen sample takes variance from those like it, and from none else,
and its label is not needed for that. A site of one class is sure of every answer, so there the variance alone decides.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.errors import DataError
from pfedgp_core.kernels.base import Kernel, unit_sphere
from pfedgp_core.site.saved import SavedSite

__all__ = ["Suggestion", "greedy_batch", "suggest"]

NOISE = 4.0  # of a label, as an observation of a latent value
MOST = 4_000  # samples of the site that are known; in their canonical order, which is that of hashes, the first ones


@dataclass(frozen=True)
class Suggestion:
    """The chosen candidates, the best one first.

    Attributes
    ----------
    rows : numpy.ndarray, int64 [n]
    entropy : numpy.ndarray, float64 [n]
        Of each prediction at temperature 1, in nats.
    variance : numpy.ndarray, float64 [n]
        What the kernel leaves of each, given the site's samples and those chosen before, as a share of its prior
        variance.
    by_variance : bool
        Whether the variance alone decided, because the site has one class and so no entropy.
    """

    rows: np.ndarray
    entropy: np.ndarray
    variance: np.ndarray
    by_variance: bool


def suggest(site: SavedSite, features: Tensor, count: int) -> Suggestion:
    """Choose samples to label.

    Parameters
    ----------
    site : SavedSite
    features : Tensor [T, d]
        Of the candidates under the site's model.
    count : int
        How many, from 1; fewer candidates are all chosen.

    Raises
    ------
    DataError
        A count below 1.
    """
    if count < 1:
        raise DataError(f"{count} samples to label are none: give a count from 1.")
    entropy = site.predict_features(features).entropy
    known = torch.from_numpy(site.samples.features[:MOST])
    single = len(site.class_names) == 1
    weights = np.ones_like(entropy) if single else entropy
    rows, variance = greedy_batch(site.classifier.kernel, known, features, weights, count)
    return Suggestion(rows, entropy[rows], variance, single)


def greedy_batch(
    kernel: Kernel, known: Tensor, candidates: Tensor, weights: np.ndarray, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Choose candidates one by one by weight times remaining variance; N^3 + T N (N + count) operations.

    Parameters
    ----------
    kernel : Kernel
    known : Tensor [N, d]
    candidates : Tensor [T, d]
        Features, which are put on the unit sphere here.
    weights : float64 [T]
        Not negative.
    count : int

    Returns
    -------
    rows : numpy.ndarray, int64 [n]
        Without repetition; of equal scores the first.
    variance : numpy.ndarray, float64 [n]
        Of each when it was chosen, as a share of its prior variance.
    """
    with torch.no_grad():
        X, Y = unit_sphere(known.double()), unit_sphere(candidates.double())
        factor = torch.linalg.cholesky(kernel.gram(X, NOISE))
        explained = torch.linalg.solve_triangular(factor, kernel.cross(X, Y), upper=False)
        prior = kernel.diagonal(Y)
        variance = (prior - explained.square().sum(0)).clamp_min(0)
        scales = torch.from_numpy(weights).clamp_min(0)
        free = torch.ones(len(Y), dtype=torch.bool)
        rows, shares, steps = [], [], [explained]
        for _ in range(min(count, len(Y))):
            best = int(torch.where(free, scales * variance, -1.0).argmax())
            rows.append(best)
            shares.append(float(variance[best] / prior[best]))
            free[best] = False
            # The next row of the Cholesky factor of all candidates, given what is known.
            cross = kernel.cross(Y[best : best + 1], Y)[0] - sum(step[:, best] @ step for step in steps)
            step = (cross / (variance[best] + NOISE).sqrt())[None]
            steps.append(step)
            variance = (variance - step[0].square()).clamp_min(0)
    return np.array(rows, dtype=np.int64), np.array(shares)
