r"""Posterior Gaussians of very many small GP nodes at once, for studies that need 10,000 draws.

Nodes stand side by side, padded to one number of points n. A point without a label has omega = kappa = 0, and so has a
padded one, whose covariances are zero. So the formulas do without :math:`D^{-1}`: with D = diag(sqrt(omega)),
B = I + D K D = L L', :math:`V = L^{-1} D K` and kappa' = kappa - omega m about a prior mean m, the residual g = f - m
has

.. math::
    \Sigma = K - V'V, \qquad E g = K \kappa' - V' V \kappa', \qquad
    E g_* = k_*' (\kappa' - D B^{-1} D K \kappa'), \qquad v_* = k_{**} - |L^{-1} D k_*|^2.

Written apart from `pfedgp_core.gp` and `pfedgp_core.certificate`; that both agree is tested.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from pfedgp_core.numerics.streams import Stream

__all__ = ["Gaussians", "PaddedNodes", "kl", "matched", "moments", "predict", "sample_omega"]


class PaddedNodes(NamedTuple):
    """B nodes of at most n points, float64.

    Attributes
    ----------
    gram : Tensor [B, n, n]
        With jitter; a padded point has some variance and no covariance.
    kappa : Tensor [B, n]
        1/2 on the left, -1/2 on the right, 0 where padded.
    mean : Tensor [B, n]
        Of the prior.
    """

    gram: Tensor
    kappa: Tensor
    mean: Tensor


class Gaussians(NamedTuple):
    """Mean [B, n] and covariance [B, n, n] of the latents at all points of every node."""

    mean: Tensor
    covariance: Tensor


def sample_omega(nodes: PaddedNodes, known: Tensor, chains: int, sweeps: int, stream: Stream) -> Tensor:
    """Gibbs draws of omega [B, C, n] given the labels of the `known` points [B, n]; 0 at all others."""
    prior_factor = torch.linalg.cholesky(nodes.gram)
    batch, n = nodes.kappa.shape

    def normal() -> Tensor:
        return stream.normal(batch, chains, n, dtype=torch.float64)

    def draw(g: Tensor) -> Tensor:
        f = g + nodes.mean[:, None]
        drawn = torch.zeros_like(f)
        there = known[:, None].expand_as(f)
        drawn[there] = stream.polya_gamma(f[there])
        return drawn

    omega = draw(normal() @ prior_factor.mT)
    for _ in range(sweeps):
        # The likelihood's linear part moves the prior's mean to K kappa'; its quadratic one sees sqrt(omega) g + e = 0.
        g = normal() @ prior_factor.mT + _tilted(nodes, omega, known) @ nodes.gram
        d, L = _factorise(nodes.gram, omega)
        seen = torch.cholesky_solve((d * g + normal())[..., None], L)[..., 0]
        omega = draw(g - (d * seen) @ nodes.gram)
    return omega


def moments(nodes: PaddedNodes, omega: Tensor, known: Tensor) -> Gaussians:
    """The Gaussians with the moments of the chains' mixtures, given the labels of the known points [B, n]."""
    d, L = _factorise(nodes.gram, omega)
    V = torch.linalg.solve_triangular(L, d[..., None] * nodes.gram[:, None], upper=False)
    given = _tilted(nodes, omega, known)
    means = given @ nodes.gram - ((V @ given[..., None]).mT @ V)[..., 0, :]
    centre = means.mean(1)
    stacked, apart = V.flatten(1, 2), means - centre[:, None]
    covariance = nodes.gram + (apart.mT @ apart - stacked.mT @ stacked) / omega.shape[1]
    return Gaussians(nodes.mean + centre, covariance)


def kl(q: Gaussians, p: Gaussians) -> Tensor:
    """KL[q || p] of every node, [B]; a padded point adds nothing."""
    Lq, Lp = torch.linalg.cholesky(q.covariance), torch.linalg.cholesky(p.covariance)
    ratio = torch.linalg.solve_triangular(Lp, Lq, upper=False)
    apart = torch.linalg.solve_triangular(Lp, (q.mean - p.mean)[..., None], upper=False)[..., 0]
    log_det = (Lp.diagonal(dim1=1, dim2=2).log() - Lq.diagonal(dim1=1, dim2=2).log()).sum(1)
    return 0.5 * (ratio.square().sum((1, 2)) - q.mean.shape[1] + apart.square().sum(1)) + log_det


def predict(nodes: PaddedNodes, omega: Tensor, cross: Tensor, variance: float) -> tuple[Tensor, Tensor]:
    """Mean and variance [B, C, P] of g at P new points, given all labels.

    Parameters
    ----------
    nodes : PaddedNodes
    omega : Tensor [B, C, n]
    cross : Tensor [B, n, P]
        Prior covariances of the nodes' points and the new ones, 0 where padded.
    variance : float
        Of a new latent under the prior, with jitter.
    """
    d, L = _factorise(nodes.gram, omega)
    given = _tilted(nodes, omega, nodes.kappa != 0)
    seen = torch.cholesky_solve((d * (given @ nodes.gram))[..., None], L)[..., 0]
    V = torch.linalg.solve_triangular(L, d[..., None] * cross[:, None], upper=False)
    return (given - d * seen) @ cross, variance - V.square().sum(2)


def matched(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance [B, P] of the chains' mixtures, from those of the chains [B, C, P]."""
    return mean.mean(1), variance.mean(1) + mean.var(1, correction=0)


def _tilted(nodes: PaddedNodes, omega: Tensor, known: Tensor) -> Tensor:
    """kappa - omega m [B, C, n] at the known points, 0 at the others, where omega is 0."""
    return (nodes.kappa * known)[:, None] - omega * nodes.mean[:, None]


def _factorise(gram: Tensor, omega: Tensor) -> tuple[Tensor, Tensor]:
    """sqrt(omega) [B, C, n] and the Cholesky factors of I + D K D [B, C, n, n]."""
    d = omega.sqrt()
    matrix = d[..., None] * gram[:, None] * d[..., None, :]
    matrix.diagonal(dim1=-2, dim2=-1).add_(1.0)
    return d, torch.linalg.cholesky(matrix)
