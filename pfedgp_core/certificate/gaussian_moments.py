r"""The Gaussian with the moments of a node's chains, its KL from another one, and the posterior of some of its points.

The chains' mixture (1/C) sum_c N(m_c, Sigma_c) has the mean and covariance

.. math::
    m = \operatorname{mean}_c m_c, \qquad
    S = \operatorname{mean}_c \Sigma_c + \operatorname{mean}_c (m_c - m)(m_c - m)'.

At a large output scale the chains' Gaussians are narrow and far apart, so that the mean of their KLs says little; this
one has no mixture to pay for. Given only some points, the moments at all others follow from the prior's conditional law
of these, so that beyond any set of points which holds the given ones the law is still the prior's. A prior mean shifts
both Gaussians of a KL alike, so it enters by the chains' kappa alone (`dense.kappa_given`).
"""

from typing import NamedTuple

import torch
from torch import Tensor

from pfedgp_core.errors import NonFiniteError
from pfedgp_core.gp import dense
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP

__all__ = ["Gaussian", "gaussian_kl", "matched_gaussian", "part_of"]


class Gaussian(NamedTuple):
    """Mean [n] and covariance [n, n], float64."""

    mean: Tensor
    covariance: Tensor


def matched_gaussian(gp: FullGP | FITC, omega: Tensor, rows: Tensor) -> Gaussian:
    """The moments of the latents at all points of a node, given the labels of some of them under the chains' omega.

    Parameters
    ----------
    gp : FullGP or FITC
        From ``exact_gp``, of n points.
    omega : Tensor [C, m]
        At the given points; any positive values.
    rows : Tensor [m]
        The given points. None of them gives the prior.
    """
    K = gp.gram.detach()
    if not len(rows):
        return Gaussian(dense.about(gp.mean, K.new_zeros(len(K))), K)
    known, cross, kappa, prior_mean = K[rows][:, rows], K[rows], gp.kappa[rows], _mean_of(gp, rows)
    means, covariance = [], torch.zeros_like(K)
    for weights in omega.detach().double().cpu().clamp_min(dense.SMALLEST_OMEGA):
        d, L = (part[0] for part in dense.factorise(known, weights[None]))
        given = dense.kappa_given(kappa, prior_mean, weights)
        means.append(cross.T @ (d * torch.cholesky_solve((given / d)[:, None], L)[:, 0]))
        V = torch.linalg.solve_triangular(L, d[:, None] * cross, upper=False)
        covariance.addmm_(V.T, V, alpha=-1 / len(omega))
    spread = torch.stack(means)
    mean = spread.mean(0)
    spread = spread - mean
    return Gaussian(dense.about(gp.mean, mean), (K + covariance).addmm_(spread.T, spread, alpha=1 / len(omega)))


def gaussian_kl(q: Gaussian, p: Gaussian) -> float:
    """KL[q || p] in nats.

    Raises
    ------
    NonFiniteError
        A covariance has no Cholesky factor, or the value is not finite.
    """
    (Lq, failed), (Lp, failed_too) = (torch.linalg.cholesky_ex(each.covariance) for each in (q, p))
    ratio = torch.linalg.solve_triangular(Lp, Lq, upper=False)
    apart = torch.linalg.solve_triangular(Lp, (q.mean - p.mean)[:, None], upper=False)
    log_det = Lp.diagonal().log().sum() - Lq.diagonal().log().sum()
    value = 0.5 * (ratio.square().sum() - len(q.mean) + apart.square().sum()) + log_det
    if failed or failed_too or not torch.isfinite(value):
        raise NonFiniteError("The posterior has no finite KL: check that features, kernel and chains are finite.")
    return float(value)


def part_of(gp: FullGP | FITC, rows: Tensor) -> FullGP | FITC:
    """The same node with some of its points alone; from ``exact_gp``."""
    labels, inputs = (gp.kappa > 0)[rows], gp.inputs[rows]
    if isinstance(gp, FullGP):
        return FullGP(gp.kernel, inputs, labels, gp.jitter, solver="dense", mean=_mean_of(gp, rows))
    projection = gp.projection
    return FITC(projection.kernel, inputs, labels, projection.inducing, projection.jitter, solver="dense")


def _mean_of(gp: FullGP | FITC, rows: Tensor) -> Tensor | None:
    """Prior means of some points; None where they are zero."""
    return None if gp.mean is None else gp.mean[rows]
