r"""Every training point of a node predicted from all others, in closed form from the draws of omega that exist.

The law of the latent f_i given omega and all *other* labels is the cavity: the posterior divided by the site
exp(kappa_i f_i - omega_i f_i^2 / 2). On the pseudo-targets z = kappa / omega with noise 1 / omega this is leave-one-out
of GP regression (Rasmussen and Williams 2006, eqs. 5.10 to 5.12) without the noise of the left-out point. With
A = (K + Omega^-1)^-1 and alpha = A z,

.. math::
    \mu_i = z_i - \frac{\alpha_i}{A_{ii}}, \qquad v_i = \frac{1}{A_{ii}} - \frac{1}{\omega_i}

The draws of omega come from p(omega | y), which has seen y_i. With q_ci = E_{N(mu_ci, v_ci)} sigma(s_i f) in chain c,

.. math::
    p(y_i \mid y_{-i}) = \Big( E_{\omega \mid y} \, \frac{1}{q_i(\omega_{-i})} \Big)^{-1}
    \approx \Big( \frac{1}{C} \sum_c \frac{1}{q_{ci}} \Big)^{-1}

The first equation is exact: p(omega_-i | y) = p(omega_-i | y_-i) q_i(omega_-i) / p(y_i | y_-i), so draws weighted by
1 / q_ci are draws without y_i, and their weighted mean of q_ci is the harmonic mean. No GP is fitted again.
"""

import math

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from pfedgp_core.gp import dense
from pfedgp_core.gp.dense import CHUNK_BYTES
from pfedgp_core.gp.fitc_algebra import weights

__all__ = ["full_cavity", "inducing_cavity", "left_out_sides", "shared_cavity"]


def full_cavity(K: Tensor, omega: Tensor, kappa: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of every training latent given omega and the other labels, differentiable in K and kappa.

    Parameters
    ----------
    K : Tensor [n, n]
        Gram matrix with jitter; several nodes of one size start all shapes with their number, as in `dense`.
    omega : Tensor [C, n]
        Held fixed.
    kappa : Tensor [n] or [C, n]

    Returns
    -------
    mu, v : Tensor [C, n]
    """
    if torch.is_grad_enabled() and (K.requires_grad or kappa.requires_grad):
        moments: tuple[Tensor, Tensor] = _Cavity.apply(K, omega, kappa)
        return moments
    chunks = dense.in_chunks(omega, kappa, CHUNK_BYTES // (3 * K.nbytes))
    parts = [_Cavity.apply(K, *chunk) for chunk in chunks]
    return torch.cat([mu for mu, _ in parts], -2), torch.cat([v for _, v in parts], -2)


class _Cavity(torch.autograd.Function):
    """The cavity with its closed-form adjoint.

    With b = diag(B^-1), A_ii = omega_i b_i. Upstream g_mu and g_v give the cotangents p = -g_mu / A_ii of alpha and
    q = (g_mu alpha - g_v) / A_ii^2 of diag(A), so dK = -(r alpha' + alpha r') / 2 - A diag(q) A with r = A p, and
    dkappa = (g_mu + r) / omega.
    """

    @staticmethod
    def forward(ctx, K, omega, kappa):  # type: ignore[no-untyped-def]
        d, L = dense.factorise(K, omega)
        alpha = dense.solve_alpha(d, L, kappa)
        inverse = torch.cholesky_inverse(L)
        b = inverse.diagonal(dim1=-2, dim2=-1)
        squared = d.square()
        ctx.save_for_backward(d, inverse, alpha)
        return (dense.by_chain(kappa, d) - alpha / b) / squared, (1 - b) / (squared * b)

    @staticmethod
    @once_differentiable
    def backward(ctx, g_mu, g_v):  # type: ignore[no-untyped-def]
        d, inverse, alpha = ctx.saved_tensors
        A = d[..., None] * inverse * d[..., None, :]
        diagonal = A.diagonal(dim1=-2, dim2=-1)
        q = (g_mu * alpha - g_v) / diagonal.square()
        r = -(A @ (g_mu / diagonal)[..., None])[..., 0]
        half = r.mT @ alpha
        # Chains side by side, [n, C n]: the sum over them is one product.
        scaled = (A * q[..., None, :]).transpose(-3, -2).flatten(-2)
        g_kappa = (g_mu + r) / d.square() if ctx.needs_input_grad[2] else None
        return -0.5 * (half + half.mT) - scaled @ A.transpose(-3, -2).flatten(-2).mT, None, g_kappa


def shared_cavity(mean: Tensor, v: Tensor, omega: Tensor, kappa: Tensor) -> tuple[Tensor, Tensor]:
    """The cavity of a full GP whose cavity variance is one for all chains, as in `iterative`.

    v does not depend on the point's own omega, only on sums over the others. With s^2 = v / (1 + omega v) the posterior
    variance, mu = (m - s^2 kappa) / (1 - omega s^2) = m (1 + omega v) - v kappa.

    Parameters
    ----------
    mean : Tensor [C, n]
        Posterior means of the training latents.
    v : Tensor [1, n]
    omega : Tensor [C, n]
    kappa : Tensor [n]
    """
    return mean * (1 + omega * v) - v * dense.by_chain(kappa, omega), v.expand_as(mean)


def inducing_cavity(
    mu: Tensor, v: Tensor, d: Tensor, omega: Tensor, of_variance: Tensor, kappa: Tensor
) -> tuple[Tensor, Tensor]:
    """The cavity of a FITC node in its M x M form, differentiable in the first three.

    f_i sees the other points through the inducing latents alone. With a_i'u and q_i = a_i' B^-1 a_i of the posterior
    (`fitc_algebra`), g and h of `weights`, the site is taken out of B by Sherman and Morrison:
    q_-i = q_i / (1 - g_i q_i), mu_i = a_i'u (1 + g_i q_-i) - h_i q_-i, v_i = d_i + q_-i.

    Parameters
    ----------
    mu, v : Tensor [C, n]
        Moments that the node's `predictive` gives at its own inputs, as if they were new: a_i'u and d_i + q_i. Where v
        is one for all chains, so is the cavity variance.
    d : Tensor [n]
        Residual prior variances.
    omega, of_variance : Tensor [C, n]
        The draws, and the omega that v was computed at, which may be one for all chains.
    kappa : Tensor [n]
    """
    q = v - d
    others = q / (1 - weights(d, of_variance, kappa)[0] * q).clamp_min(torch.finfo(q.dtype).eps)
    g, h = weights(d, omega, kappa)
    return mu * (1 + g * others) - h * others, d + others


def left_out_sides(log_own: Tensor, log_other: Tensor) -> tuple[Tensor, Tensor]:
    """log p(y_i | y_-i), and the same of the other label, [n] each; see above.

    Parameters
    ----------
    log_own, log_other : Tensor [C, n]
        log q_ci and log(1 - q_ci), both accurate where they are near 0.
    """
    total = torch.logsumexp(-log_own, 0)
    return math.log(len(log_own)) - total, torch.logsumexp(log_other - log_own, 0) - total
