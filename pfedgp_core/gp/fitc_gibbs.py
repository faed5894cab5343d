r"""The Gaussian half of a Gibbs sweep under the FITC prior: f given omega and y, all chains at once, without n x n.

Given the inducing latents the training latents are independent, but each still learns from its own label:

.. math::
    f_i \mid \bar f, y, w \sim N\Big(\frac{a_i' u + d_i \kappa_i}{1 + d_i w_i}, \frac{d_i}{1 + d_i w_i}\Big), \qquad
    u = L_m^{-1} \bar f \mid y, w \sim N(B^{-1} A h, B^{-1})

The paper prints the law of a *fresh* latent, N(a_i' u, d_i), in place of the first; a sampler with it has the wrong
stationary law (E f and Cov f, hardly the predictive). Notation as in `fitc_algebra`.

u is drawn by perturb and solve, u = B^-1 (A h + e + A g^1/2 e'), whose noise has covariance B: one solve a chain
(`fitc_solver`), and no factorisation.
"""

from collections import Counter

import torch
from torch import Tensor

from pfedgp_core.gp.fitc_algebra import factorise, weights
from pfedgp_core.gp.fitc_solver import solve
from pfedgp_core.numerics.streams import Stream

__all__ = ["draw_latents", "draw_prior"]


def draw_prior(A: Tensor, d: Tensor, chains: int, stream: Stream) -> Tensor:
    """f ~ N(0, A'A + diag(d)), [C, n]."""
    f = stream.normal(chains, len(A), dtype=A.dtype) @ A
    return f + d.sqrt() * stream.normal(*f.shape, dtype=A.dtype)


def draw_latents(
    A: Tensor,
    d: Tensor,
    preconditioner: Tensor | None,
    omega: Tensor,
    kappa: Tensor,
    stream: Stream,
    counters: Counter[str] | None = None,
) -> tuple[Tensor, Tensor]:
    """Draw f ~ p(f | omega, y) for every chain, and a draw of the prior to restart a broken chain from.

    Parameters
    ----------
    A : Tensor [M, n]
        Whitened cross kernel, without gradient.
    d : Tensor [n]
        Residual prior variances, at least 0.
    preconditioner : Tensor [M, M] or None
        Of `fitc_solver.prior_preconditioner`. Without one every chain is factorised: the way for an accelerator, where
        the stopping rule of an iteration would bring every sweep back to the host.
    omega : Tensor [C, n]
    kappa : Tensor [n]
    stream : Stream
    counters : Counter, optional
        ``cg_fallback`` counts chains that conjugate gradients left unsolved and that were factorised instead.

    Returns
    -------
    f, f0 : Tensor [C, n]
    """
    g, h = weights(d, omega, kappa)
    e = stream.normal(len(omega), len(A), dtype=A.dtype)
    b = torch.addmm(e, torch.addcmul(h, g.sqrt(), stream.normal(*g.shape, dtype=A.dtype)), A.T)
    if preconditioner is None:
        L, _ = factorise(A, g, h)
        u = torch.cholesky_solve(b[..., None], L)[..., 0]
    else:
        u = solve(A, g, b, preconditioner, counters=counters)
    residual = d.sqrt() * stream.normal(*g.shape, dtype=A.dtype)
    shrink = 1.0 + d * omega
    f = (u @ A + d * kappa + residual * shrink.sqrt()) / shrink
    return f, e @ A + residual
