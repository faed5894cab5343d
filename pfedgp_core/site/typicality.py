r"""How typical an input is of a site's own samples: a score for what belongs to none of its classes.

The probabilities of a classifier say which of its classes an input is, whatever it is. The variance of a Gaussian
process says how far it is from all samples, in the kernel of the model:

.. math::
    s(x) = k(x, x) - k(x, X) \, (K + \nu I)^{-1} \, k(X, x)

with a hundredth of the prior variance as noise. Each sample of the site has the same from all others (Rasmussen and
Williams 2006, eq. 5.12), and an input is as typical as the share of samples that are at least as far,
(1 + #{s_i >= s(x)}) / (n + 1). Where new inputs come from where the samples did, a share of at most p occurs with
probability p, as for a conformal p-value; no label is used. Samples that trained the network are nearer to each other
than new ones are, so that a site that took part flags more.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.kernels.base import Kernel, unit_sphere
from pfedgp_core.site.saved import SavedSite

__all__ = ["MOST", "Typicality"]

MOST = 2_000  # samples that are compared with: in their canonical order, which is that of hashes, the first ones
NOISE = 0.01  # of the prior variance


@dataclass(frozen=True, eq=False)
class Typicality:
    """The different samples of a site, and how far each is from the others.

    Attributes
    ----------
    points : Tensor, float64 [n, d]
        Features on the unit sphere.
    inverse : Tensor, float64 [n, n]
        Of their covariance with noise.
    left_out : numpy.ndarray, float64 [n]
        The score of each sample from all others, ascending.
    """

    kernel: Kernel
    points: Tensor
    inverse: Tensor
    left_out: np.ndarray

    @classmethod
    def of(cls, site: SavedSite) -> "Typicality":
        """Of a site's samples, equal ones once; n^3 operations."""
        features, first = np.unique(site.samples.features, axis=0, return_index=True)
        features = features[np.argsort(first)][:MOST]
        points = unit_sphere(torch.from_numpy(features).double())
        kernel = site.classifier.kernel
        noise = NOISE * float(kernel.output_scale)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(kernel.gram(points, noise).detach()))
        left_out = 1 / inverse.diagonal() - noise
        return cls(kernel, points, inverse, np.sort(left_out.numpy()))

    def scores(self, features: Tensor) -> np.ndarray:
        """The variance at inputs with these features [T, d], float64 [T]; the larger, the farther from all samples."""
        rows = unit_sphere(features.double())
        cross = self.kernel.cross(rows, self.points).detach()
        variance = self.kernel.diagonal(rows).detach() - (cross @ self.inverse * cross).sum(1)
        scores: np.ndarray = variance.numpy()
        return scores

    def shares(self, features: Tensor) -> np.ndarray:
        """The share of samples that are at least as far, float64 [T], from 1 / (n + 1) to 1."""
        farther = len(self.left_out) - np.searchsorted(self.left_out, self.scores(features), side="left")
        shares: np.ndarray = (1 + farther) / (len(self.left_out) + 1)
        return shares

    @property
    def smallest(self) -> float:
        """The share below which none is."""
        return 1 / (len(self.left_out) + 1)
