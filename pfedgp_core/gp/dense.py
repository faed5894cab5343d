r"""Exact linear algebra of a binary GP node given omega, batched over chains, in the well-conditioned B form.

With D = diag(sqrt(omega)) and B = I + D K D = L L' (eigenvalues at least 1, so no jitter is ever needed):

.. math::
    (K + \Omega^{-1})^{-1} = D B^{-1} D, \qquad \alpha = D B^{-1} D^{-1} \kappa, \qquad \mu_* = K_*' \alpha,
    \qquad v_* = k_{**} - \operatorname{colsum}((L^{-1} D K_*)^2)

Gradients with respect to K, K*, k** and kappa are closed form (no backward pass through a Cholesky factorisation).
Every function also takes several nodes of one size at once: all shapes then start with the same further dimensions.

A prior mean m enters by kappa alone: with f = m + g, g ~ N(0, K), the likelihood of g given omega has kappa - omega m
in place of kappa, which then has a row for each chain, [C, n].
Paper: sections 3 and A.1; omega is held fixed (Fisher's identity).
"""

import math

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from pfedgp_core.numerics.linalg import inverse
from pfedgp_core.numerics.streams import Stream

__all__ = [
    "about",
    "along",
    "any_row",
    "by_chain",
    "by_inverse",
    "draw_latents",
    "factorise",
    "in_chunks",
    "kappa_given",
    "log_marginal",
    "posterior",
    "predictive",
    "solve_alpha",
]

SMALLEST_OMEGA = 1e-12  # PG(1, z) with |z| < 150 stays far above; below it 1/omega would overflow float32
CHUNK_BYTES = 2**28  # working set of one chunk of chains
INVERTED_BELOW = 96  # points up to which products with an inverse cost a CPU less than triangular solves


def by_chain(kappa: Tensor, omega: Tensor) -> Tensor:
    """kappa as it meets omega [C, n]: a row for each chain where it has them, else one row for all, [1, n]."""
    return kappa if kappa.ndim == omega.ndim else kappa[..., None, :]


def kappa_given(kappa: Tensor, mean: Tensor | None, omega: Tensor) -> Tensor:
    """kappa - omega m [C, n], of the likelihood of f - m given omega; kappa itself where there is no mean."""
    return kappa if mean is None else by_chain(kappa, omega) - omega * by_chain(mean, omega)


def about(mean: Tensor | None, latents: Tensor) -> Tensor:
    """Latents [C, n] whose prior mean is zero, about the prior mean [n] that they have; without its gradient."""
    return latents if mean is None else latents + by_chain(mean.detach(), latents)


def any_row(kappa: Tensor, omega: Tensor) -> Tensor:
    """One row of kappa [n] for what does not depend on it, such as a variance; without gradient."""
    return kappa if kappa.ndim < omega.ndim else kappa.detach().select(-2, 0)


def in_chunks(omega: Tensor, kappa: Tensor, chains: int) -> list[tuple[Tensor, Tensor]]:
    """omega [C, n] and kappa, so many chains at a time."""
    omegas = omega.split(max(1, chains), dim=-2)
    kappas = kappa.split(max(1, chains), dim=-2) if kappa.ndim == omega.ndim else [kappa] * len(omegas)
    return list(zip(omegas, kappas, strict=True))


def factorise(K: Tensor, omega: Tensor) -> tuple[Tensor, Tensor]:
    """Return sqrt(omega) [C, n] and the lower Cholesky factor L [C, n, n] of B = I + D K D."""
    d, B = scaled_matrix(K, omega)
    # B is symmetric, and the columns of its transpose lie in a row, as LAPACK wants them: a plain copy.
    L, _ = torch.linalg.cholesky_ex(B.mT)
    return d, L


def scaled_matrix(K: Tensor, omega: Tensor) -> tuple[Tensor, Tensor]:
    """Return sqrt(omega) [C, n] and B = I + D K D [C, n, n]."""
    d = omega.clamp_min(SMALLEST_OMEGA).sqrt()
    B = (d[..., None, :] * K[..., None, :, :]).mul_(d[..., None])
    B.diagonal(dim1=-2, dim2=-1).add_(1.0)
    return d, B


def solve_alpha(d: Tensor, L: Tensor, kappa: Tensor) -> Tensor:
    """alpha = D B^-1 D^-1 kappa, [C, n], from what `factorise` returns."""
    return d * torch.cholesky_solve((by_chain(kappa, d) / d)[..., None], L)[..., 0]


def draw_latents(
    K: Tensor, prior_factor: Tensor, omega: Tensor, kappa: Tensor, stream: Stream
) -> tuple[Tensor, Tensor]:
    """Draw f given omega for every chain by correcting a draw of the prior (one Cholesky a chain).

    f = f0 + K D B^-1 (D^-1 kappa - D f0 - e) with f0 ~ N(0, K), e ~ N(0, I), which has the law N(Sigma kappa, Sigma),
    Sigma = (K^-1 + Omega)^-1, without forming Sigma.

    Parameters
    ----------
    K : Tensor [n, n]
        Gram matrix with jitter.
    prior_factor : Tensor [n, n]
        Lower Cholesky factor of K.
    omega : Tensor [C, n]
    kappa : Tensor [n] or [C, n]
    stream : Stream

    Returns
    -------
    f : Tensor [C, n]
    f0 : Tensor [C, n]
        The prior draw that was corrected.
    """
    d, L = factorise(K, omega)
    noise, e = stream.normal_pair(*omega.shape, dtype=K.dtype)
    f0 = noise @ prior_factor.mT
    rhs = (by_chain(kappa, d) / d).addcmul_(d, f0, value=-1).sub_(e)
    u = torch.cholesky_solve(rhs[..., None], L)[..., 0]
    return ((d * u) @ K).add_(f0), f0


def predictive(K: Tensor, K_star: Tensor, k_star_star: Tensor, omega: Tensor, kappa: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of f* given omega, differentiable in K, K_star and k_star_star.

    Parameters
    ----------
    K : Tensor [n, n]
        Gram matrix with jitter.
    K_star : Tensor [n, T]
        Cross kernel, training by test.
    k_star_star : Tensor [T]
        Prior variances of the test latents.
    omega : Tensor [C, n]
        Held fixed.
    kappa : Tensor [n] or [C, n]

    Returns
    -------
    mu, v : Tensor [C, T]
    """
    if torch.is_grad_enabled() and any(each.requires_grad for each in (K, K_star, k_star_star, kappa)):
        form = _InversePredictive if by_inverse(K) else _Predictive
        moments: tuple[Tensor, Tensor] = form.apply(K, K_star, k_star_star, omega, kappa)
        return moments
    n, T = K_star.shape[-2:]
    per_chain = n * (n + T) * 2 * K.element_size() * K[..., 0, 0].numel()
    chunks = in_chunks(omega, kappa, CHUNK_BYTES // per_chain)
    parts = [_predict_chunk(K, K_star, k_star_star, *chunk)[:2] for chunk in chunks]
    return torch.cat([mu for mu, _ in parts], -2), torch.cat([v for _, v in parts], -2)


def by_inverse(K: Tensor) -> bool:
    """Whether a node of this Gram matrix [n, n] is so small that explicit inverses are the cheaper way."""
    return K.shape[-1] < INVERTED_BELOW and K.device.type == "cpu"


def _predict_chunk(
    K: Tensor, K_star: Tensor, k_star_star: Tensor, omega: Tensor, kappa: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:
    d, L = factorise(K, omega)
    alpha = solve_alpha(d, L, kappa)
    V = torch.linalg.solve_triangular(L, d[..., None] * K_star[..., None, :, :], upper=False)
    return alpha @ K_star, k_star_star[..., None, :] - V.square().sum(-2), d, L, alpha, V


class _Predictive(torch.autograd.Function):
    """The moments of f*, with their closed-form adjoint.

    With A = D B^-1 D and C = A K*, upstream g_mu and g_v,
    dK = C diag(g_v) C' - (b alpha' + alpha b') / 2 with b = C g_mu; dK* = alpha g_mu' - 2 C diag(g_v); dk** = g_v;
    dkappa = b / omega, as alpha = A Omega^-1 kappa.
    """

    @staticmethod
    def forward(ctx, K, K_star, k_star_star, omega, kappa):  # type: ignore[no-untyped-def]
        mu, v, d, L, alpha, V = _predict_chunk(K, K_star, k_star_star, omega, kappa)
        ctx.save_for_backward(d, L, alpha, V)
        return mu, v

    @staticmethod
    def backward(ctx, g_mu, g_v):  # type: ignore[no-untyped-def]
        d, L, alpha, V = ctx.saved_tensors
        C = d[..., None] * torch.linalg.solve_triangular(L.mT, V, upper=True)
        b = (C @ g_mu[..., None])[..., 0]
        scaled = C * g_v[..., None, :]
        g_K_star = alpha.mT @ g_mu - 2.0 * scaled.sum(-3)
        symmetric = b.mT @ alpha
        # Chains and test points side by side, [n, C T]: the sum over both is one product.
        g_K = scaled.transpose(-3, -2).flatten(-2) @ C.transpose(-3, -2).flatten(-2).mT
        g_kappa = b / d.square() if ctx.needs_input_grad[4] else None
        return g_K - 0.5 * (symmetric + symmetric.mT), g_K_star, g_v.sum(-2), None, g_kappa


class _InversePredictive(torch.autograd.Function):
    """As `_Predictive`, with A itself: C = A K* of all chains is one product, and the backward pass solves nothing.

    [n, C, T] in place of [C, n, T], so that chains and test points lie side by side.
    """

    @staticmethod
    def forward(ctx, K, K_star, k_star_star, omega, kappa):  # type: ignore[no-untyped-def]
        d, B = scaled_matrix(K, omega)
        solver = inverse(B.flatten(0, -3)).view(B.shape)
        alpha = d * (solver @ (by_chain(kappa, d) / d)[..., None])[..., 0]
        by_row = solver.transpose(-3, -2)
        A = torch.mul(by_row, d.mT[..., None], out=torch.empty(by_row.shape, dtype=K.dtype, device=K.device))
        A.mul_(d[..., None, :, :])
        C = (A.flatten(-3, -2) @ K_star).unflatten(-2, A.shape[-3:-1])
        ctx.save_for_backward(C, alpha, d)
        return alpha @ K_star, k_star_star[..., None, :] - (C * K_star[..., None, :]).sum(-3)

    @staticmethod
    @once_differentiable
    def backward(ctx, g_mu, g_v):  # type: ignore[no-untyped-def]
        C, alpha, d = ctx.saved_tensors
        b = (C * g_mu[..., None, :, :]).sum(-1)
        scaled = C * g_v[..., None, :, :]
        symmetric = b @ alpha
        g_K_star = alpha.mT @ g_mu - 2.0 * scaled.sum(-2)
        g_K = scaled.flatten(-2) @ C.flatten(-2).mT - 0.5 * (symmetric + symmetric.mT)
        g_kappa = b.mT / d.square() if ctx.needs_input_grad[4] else None
        return g_K, g_K_star, g_v.sum(-2), None, g_kappa


def log_marginal(K: Tensor, omega: Tensor, kappa: Tensor) -> Tensor:
    """log p(y | omega) of every chain, fully normalised: -n log 2 - sum log L_ii + kappa' K alpha / 2.

    Differentiable in K with gradient (alpha alpha' - A) / 2, and in kappa with K alpha. Its mean over posterior omegas
    is *not* log p(y): it exceeds it by KL(Q(omega) || PG(1, 0)) and serves only as a learning objective.

    Parameters
    ----------
    K : Tensor [n, n]
    omega : Tensor [C, n]
    kappa : Tensor [n] or [C, n]

    Returns
    -------
    Tensor [C]
    """
    value: Tensor = _LogMarginal.apply(K, omega, kappa)
    return value


class _LogMarginal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, K, omega, kappa):  # type: ignore[no-untyped-def]
        d, L = factorise(K, omega)
        alpha = solve_alpha(d, L, kappa)
        means = alpha @ K
        ctx.save_for_backward(d, L, alpha, means)
        log_det = L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        return -omega.shape[-1] * math.log(2.0) - log_det + 0.5 * along(means, kappa)

    @staticmethod
    def backward(ctx, g):  # type: ignore[no-untyped-def]
        d, L, alpha, means = ctx.saved_tensors
        A = d[:, :, None] * torch.cholesky_inverse(L) * d[:, None, :]
        g_kappa = g[:, None] * means if ctx.needs_input_grad[2] else None
        return 0.5 * ((g[:, None] * alpha).T @ alpha - (g[:, None, None] * A).sum(0)), None, g_kappa


def along(rows: Tensor, kappa: Tensor) -> Tensor:
    """The product of every row [C, n] with kappa [n], or with its own row of kappa [C, n]; [C]."""
    return rows @ kappa if kappa.ndim == 1 else (rows * kappa).sum(-1)


def posterior(K: Tensor, omega: Tensor, kappa: Tensor) -> tuple[Tensor, Tensor]:
    """Posterior of the training latents given omega: mean K alpha [C, n] and covariance K - K A K [C, n, n]."""
    d, L = factorise(K, omega)
    alpha = solve_alpha(d, L, kappa)
    V = torch.linalg.solve_triangular(L, d[..., None] * K, upper=False)
    return alpha @ K, K - V.mT @ V
