"""Cholesky factors of nearly singular matrices: jitter is added where it is needed, and counted.

The usual case costs one batched factorisation and one look at its result. Jitter is part of the model elsewhere
(K + tau I); what is added here is a repair, made only on the members of a batch that need it, and counted.
"""

from collections import Counter

import torch
from torch import Tensor

from pfedgp_core.errors import NonFiniteError, NotPositiveDefiniteError
from pfedgp_core.numerics.deferred import holds

__all__ = ["inverse", "safe_cholesky"]

BLOCK = 32  # rows of a matrix up to which LAPACK inverts it faster than products of its blocks do
_JITTERS = tuple(10.0**k for k in range(-6, 0))  # 1e-6 ... 1e-1, relative to the mean of a member's diagonal


def safe_cholesky(A: Tensor, counters: Counter[str] | None = None) -> Tensor:
    """Return the lower Cholesky factor L of A = L L', batched, repairing the members that have none.

    A member that fails gets 1e-6, 1e-5, ... 1e-1 times its mean diagonal added to its diagonal until it succeeds,
    first in its own precision, then (starting again, without jitter) in float64. The other members are unaffected.

    Parameters
    ----------
    A : Tensor
        Symmetric matrices [..., n, n], of which only the lower triangle is read. Not modified.
    counters : Counter, optional
        Receives ``"cholesky_jitter"``, the number of members that needed jitter, and ``"cholesky_float64"``, the
        number that needed float64.

    Returns
    -------
    Tensor
        L [..., n, n], of the dtype of A, differentiable in A (the jitter counts as a constant).

    Raises
    ------
    NonFiniteError
        A member that failed holds NaN or infinity.
    NotPositiveDefiniteError
        A member has no factor even with the largest jitter in float64.
    """
    L, ok = _factor(A)
    if holds(ok.all()):
        return L
    return _repair(A, ok, counters if counters is not None else Counter())


def inverse(B: Tensor) -> Tensor:
    """Inverse of well-conditioned symmetric positive definite matrices [b, n, n], without gradient.

    By halves and their Schur complement: of small matrices a CPU multiplies ten times as many a second as LAPACK
    factorises. A matrix that is not positive definite gives numbers without meaning, as cholesky_ex does.
    """
    n = B.shape[-1]
    if n <= BLOCK:
        return torch.cholesky_inverse(torch.linalg.cholesky_ex(B)[0])
    half = n // 2
    corner = B[:, half:, :half]
    first = inverse(B[:, :half, :half])
    weights = corner @ first
    second = inverse(torch.baddbmm(B[:, half:, half:], weights, corner.mT, alpha=-1))
    low = second @ weights
    whole = torch.empty(B.shape, dtype=B.dtype, device=B.device)
    whole[:, :half, :half] = torch.baddbmm(first, weights.mT, low)
    whole[:, half:, half:] = second
    whole[:, half:, :half] = low.neg_()
    whole[:, :half, half:] = low.mT
    return whole


def _factor(A: Tensor) -> tuple[Tensor, Tensor]:
    """Factor without raising. Returns L [..., n, n] and which members succeeded [...]."""
    L, info = torch.linalg.cholesky_ex(A)
    # Some backends report success on NaN. NaN anywhere in a row of A reaches the diagonal of that row of L.
    return L, (info == 0) & L.detach().diagonal(dim1=-2, dim2=-1).sum(-1).isfinite()


def _repair(A: Tensor, ok: Tensor, counters: Counter[str]) -> Tensor:
    """Find the smallest jitter that works for each failed member, then factor the whole batch once more."""
    failed = ~ok
    broken = A.detach()[failed]  # [k, n, n]
    if not bool(broken.isfinite().all()):
        raise NonFiniteError(
            f"{_count(broken.isfinite().flatten(1).all(1).logical_not())} of {failed.numel()} matrices hold NaN or "
            "infinity; lower learning-rate, or check the inputs for NaN."
        )
    dtype = A.dtype
    jitter, solved = _search(broken, _JITTERS)
    if A.dtype != torch.float64 and not bool(solved.all()):
        counters["cholesky_float64"] += _count(~solved)
        precise, solved_precise = _search(broken[~solved].double(), (0.0, *_JITTERS))
        jitter = jitter.double().masked_scatter(~solved, precise)
        solved = solved.masked_scatter(~solved, solved_precise)
        A = A.double()
    if not bool(solved.all()):
        raise NotPositiveDefiniteError(
            f"{_count(~solved)} of {failed.numel()} matrices of size {A.shape[-1]} have no Cholesky factor, even "
            f"with {_JITTERS[-1]:g} of their mean diagonal added; raise gp.jitter or lower learning-rate."
        )
    counters["cholesky_jitter"] += _count(jitter > 0)
    shift = torch.zeros(failed.shape, dtype=A.dtype, device=A.device).masked_scatter(failed, jitter)
    L, _ = torch.linalg.cholesky_ex(A + torch.diag_embed(shift[..., None].expand(A.shape[:-1])))
    factor: Tensor = L.to(dtype)
    return factor


def _search(A: Tensor, jitters: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    """Try relative jitters on the members of A [k, n, n] still unsolved. Returns absolute jitters and success, [k]."""
    scale = A.diagonal(dim1=-2, dim2=-1).mean(-1).abs()
    found = torch.zeros_like(scale)
    solved = torch.zeros_like(scale, dtype=torch.bool)
    eye = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
    for relative in jitters:
        left = ~solved
        tried = relative * scale[left]
        _, ok = _factor(A[left] + tried[:, None, None] * eye)
        found[left] = torch.where(ok, tried, 0.0)
        solved[left] = ok
        if bool(solved.all()):
            break
    return found, solved


def _count(mask: Tensor) -> int:
    return int(mask.sum())
