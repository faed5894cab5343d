r"""The posterior Q of one tree node as a certificate needs it: exact, float64, at the training latents.

Q is the finite mixture (1/C) sum_c N(m_c, Sigma_c) of the Gaussians given the node's omegas. With B = I + D K D = L L',
D = diag(sqrt(omega_c)), and V = L^-1 D K, everything comes from one factorisation a chain:

.. math::
    m = K \alpha, \quad \Sigma_{ii} = K_{ii} - \sum_j V_{ji}^2, \quad
    KL_c = \sum_i \log L_{ii} - \tfrac12 \sum_i \omega_i \Sigma_{ii} + \tfrac12 \alpha' K \alpha,

the last because the trace of B^-1 is n - sum_i omega_i Sigma_ii. No inverse and no factor of K is needed. Source: the
formulas of the paper's sections 4.4 and A.1 in B form.

About a prior mean mu (`tree.variants.prior_mean`) all this holds for the residual g = f - mu ~ N(0, K), whose
likelihood given omega has kappa - omega mu in place of kappa. A shift changes no KL: that of Q_f from N(mu, K) is that
of Q_g from N(0, K).
"""

from collections import Counter
from dataclasses import dataclass

import torch
from torch import Tensor

from pfedgp_core.gp import dense
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.numerics.linalg import safe_cholesky
from pfedgp_core.numerics.streams import Stream

__all__ = ["NodePosterior", "exact_gp", "node_posterior"]


@dataclass(frozen=True)
class NodePosterior:
    """A node's Q.

    Attributes
    ----------
    mean, variance : Tensor [C, n]
        Of each training latent given each omega.
    kl : Tensor [C]
        KL[q_c || P] of every chain's Gaussian from the prior.
    excess : Tensor [draws]
        log q_c(f) / q(f) at independent draws of a uniform chain c and f ~ q_c, where q is the mixture's density. Its
        mean is the information that f holds about the chain, KL[Q || P] = mean_c KL_c - E excess. Zeros where the prior
        has no Cholesky factor, which claims nothing.
    pairs : Tensor [C, n]
        One draw f ~ q_c for each chain.
    """

    mean: Tensor
    variance: Tensor
    kl: Tensor
    excess: Tensor
    pairs: Tensor


def exact_gp(gp: FullGP | FITC) -> FullGP | FITC:
    """The same node on a CPU in float64 with the dense solver, whatever it was fitted with."""
    labels, inputs = gp.kappa.cpu() > 0, gp.inputs.detach().double().cpu()
    if isinstance(gp, FullGP):
        mean = None if gp.mean is None else gp.mean.detach().double().cpu()
        return FullGP(gp.kernel, inputs, labels, gp.jitter, solver="dense", mean=mean)
    inducing = gp.projection.inducing.detach().double().cpu()
    return FITC(gp.projection.kernel, inputs, labels, inducing, gp.projection.jitter, solver="dense")


def node_posterior(gp: FullGP | FITC, omega: Tensor, draws: int, stream: Stream) -> NodePosterior:
    """Moments, KL and information draws of a node's Q.

    Parameters
    ----------
    gp : FullGP or FITC
        From ``exact_gp``.
    omega : Tensor [C, n]
        The chains of the deployed classifier; any positive values make a valid Q.
    draws : int
        Draws of ``excess``; 0 gives none.
    stream : Stream
        On a CPU.
    """
    K = gp.gram.detach()
    omega = omega.detach().double().cpu().clamp_min(dense.SMALLEST_OMEGA)
    repairs: Counter[str] = Counter()
    prior_factor = safe_cholesky(K, repairs)
    chosen = torch.from_numpy(stream.numpy.integers(0, len(omega), draws))
    counts = torch.bincount(chosen, minlength=len(omega)).tolist()
    mean, variance = torch.empty_like(omega), torch.empty_like(omega)
    kl, log_marginal = omega.new_empty(len(omega)), omega.new_empty(len(omega))
    latents: list[Tensor] = []
    pairs = torch.empty_like(omega)
    for c, (weights, count) in enumerate(zip(omega, counts, strict=True)):
        d, L = (part[0] for part in dense.factorise(K, weights[None]))
        kappa = gp.kappa_given(weights)
        alpha = d * torch.cholesky_solve((kappa / d)[:, None], L)[:, 0]
        V = torch.linalg.solve_triangular(L, d[:, None] * K, upper=False)
        mean[c] = K @ alpha
        variance[c] = (K.diagonal() - V.square().sum(0)).clamp_min(0.0)
        log_det, fit = L.diagonal().log().sum(), alpha @ mean[c]
        kl[c] = log_det - 0.5 * (weights @ variance[c]) + 0.5 * fit
        log_marginal[c] = 0.5 * (mean[c] @ kappa) - log_det
        # Draws of g given omega by correcting draws of the prior, as in dense.draw_latents; the first one is the pair.
        g0 = stream.normal(count + 1, len(d), dtype=torch.float64) @ prior_factor.T
        rhs = kappa / d - d * g0 - stream.normal(count + 1, len(d), dtype=torch.float64)
        g = g0 + (d * torch.cholesky_solve(rhs.T, L).T) @ K
        pairs[c] = g[0]
        latents.append(g[1:])
    mean_of_f, pairs = dense.about(gp.mean, mean), dense.about(gp.mean, pairs)
    if repairs:
        return NodePosterior(mean_of_f, variance, kl, omega.new_zeros(draws), pairs)
    # log q_c up to what all chains share; see evidence.log_ratio. Of f^2 = (g + mu)^2 all but mu^2 is theirs.
    g = torch.cat(latents)
    squares = g.square() if gp.mean is None else g * (g + 2 * gp.mean)
    log_density = -0.5 * squares @ omega.T - log_marginal
    own = log_density.gather(1, chosen.sort().values[:, None])[:, 0]
    sorted_excess = own - torch.logsumexp(log_density, 1) + omega.new_tensor(len(omega)).log()
    # Back in the order of the draws, which is independent of that at other nodes.
    excess = torch.empty_like(sorted_excess)
    excess[chosen.argsort(stable=True)] = sorted_excess
    return NodePosterior(mean_of_f, variance, kl, excess, pairs)
