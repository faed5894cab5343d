r"""Which samples to label next: those that tell most about all that the site is unsure of.

A candidate's score is how much its label would take of the variance that the kernel leaves the whole pool, each sample
of which counts with the entropy of its prediction:

.. math::
    \sum_r H(r) \, \frac{C(x, r)^2}{C(x, x) + 4}, \qquad C = K - K_{\cdot A} \, (K_A + 4 I)^{-1} \, K_{A \cdot}

where A are the site's samples and the candidates that were chosen before. So a sample is worth the more, the more
uncertain samples are like it; one that is like no other, or like those of A, is worth little. Cohn, Ghahramani and
Jordan (1996), "Active learning with statistical models", choose so without the weights. The choice is greedy. A label
tells of a latent value what an observation with variance 4 tells at most: that is the inverse mean of the Polya-Gamma
variable at 0, so that the labels of what was chosen are not needed. A site of one class is sure of every answer, so
there all samples count alike.
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
# Samples of the pool, evenly spaced, that stand for all of it, and numbers of a matrix of these and the candidates.
STAND_FOR_ALL, FEWEST_STAND, NUMBERS = 1_000, 100, 20_000_000


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
    """Choose candidates one by one by the variance that they take from all; N^3 + T N (N + R) + T R count operations.

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
        R = _standing_for(len(Y))
        scales = torch.from_numpy(weights)[R].clamp_min(0).sqrt()
        # [T, R]: covariances of the candidates with those that stand for all, times the roots of their weights.
        left = (kernel.cross(Y, Y[R]) - explained.T @ explained[:, R]) * scales
        free = torch.ones(len(Y), dtype=torch.bool)
        rows, shares, steps = [], [], [explained]
        for _ in range(min(count, len(Y))):
            taken = torch.linalg.vector_norm(left, dim=1).square() / (variance + NOISE)
            best = int(torch.where(free, taken, -1.0).argmax())
            rows.append(best)
            shares.append(float(variance[best] / prior[best]))
            free[best] = False
            # The next row of the Cholesky factor of all candidates, given what is known.
            cross = kernel.cross(Y[best : best + 1], Y)[0] - sum(step[:, best] @ step for step in steps)
            step = (cross / (variance[best] + NOISE).sqrt())[None]
            steps.append(step)
            variance = (variance - step[0].square()).clamp_min(0)
            left.addr_(step[0], step[0][R] * scales, alpha=-1.0)
    return np.array(rows, dtype=np.int64), np.array(shares)


def _standing_for(total: int) -> Tensor:
    """Rows, evenly spaced, of the candidates that stand for all; of few candidates all."""
    most = min(STAND_FOR_ALL, max(FEWEST_STAND, NUMBERS // total))
    return torch.from_numpy(np.linspace(0, total - 1, min(total, most)).round().astype(np.int64))
