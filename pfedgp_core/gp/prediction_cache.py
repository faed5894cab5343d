r"""Values of a node that repeated predictions share: computed once from omega, then O(T m) a chain for the means.

Every GP of this package predicts in the same form, with m = n training points or m = M inducing inputs:

.. math::
    \mu_* = w_c' k_*, \qquad v_* = b_* \mp |L^{-1} D k_*|^2

* full GP, and FITC in its n x n form: :math:`k_*` is the cross covariance, :math:`w = \alpha`, :math:`b_* = k_{**}`,
  :math:`D = \operatorname{diag}(\sqrt\omega)` and minus;
* FITC in its M x M form: :math:`k_* = a(x_*)`, :math:`w = u`, :math:`b_* = d_*`, D = I and plus.

As in `iterative` and `fitc_solver`, nodes with many points share one factor L between the chains (`chain_variances`);
nodes with few have one a chain. The numbers are those of ``FullGP.predict`` and ``FITC.predict``.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from pfedgp_core.gp import dense, fitc_algebra, fitc_solver, iterative
from pfedgp_core.gp.chain_variances import ChainVariances, ProjectedVariances
from pfedgp_core.gp.dense import CHUNK_BYTES, SMALLEST_OMEGA
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.gp.projection import column_squares

__all__ = ["CachedNode", "NodeProducts"]


class NodeProducts(NamedTuple):
    """A node's predictions as products of plain matrices, for programs that have no triangular solver.

    With k = k(points, x) and p = k(x, x) + jitter: A* = `whitener` k and d* = max(0, p - |A*|^2), where there is a
    whitener; k* = `lift` A* (no lift: A*; no whitener: k). Then mu = `weights` k* and v = b* + `sign` |factor k*|^2,
    with b* = p; with a whitener d* + |A*|^2, or d* where there is no lift.

    Attributes
    ----------
    points : Tensor [M, d]
    whitener : Tensor [M, M] or None
    lift : Tensor [m, M] or None
    weights : Tensor [C, m]
    factors : Tensor [c, m, m]
        Of every chain, or one for all.
    sign : float
        -1 or 1.
    spread : Tensor [n, m], optional
        Of a node whose chains share one factor: its product with k* is what `chain_variances` calls the covariances.
    shifts : Tensor [C, n], optional
        As there.
    """

    points: Tensor
    whitener: Tensor | None
    lift: Tensor | None
    weights: Tensor
    factors: Tensor
    sign: float
    spread: Tensor | None = None
    shifts: Tensor | None = None


class CachedNode:
    """Predictions of one node's GP for fixed omega; without gradients.

    Parameters
    ----------
    gp : FullGP or FITC
    omega : Tensor [C, n]
    weights : Tensor [C, m], optional
        Known from before; solved for if left out.

    Attributes
    ----------
    weights : Tensor [C, m]
        alpha of a full GP, the whitened mean u of a FITC node in its M x M form.
    """

    def __init__(self, gp: FullGP | FITC, omega: Tensor, weights: Tensor | None = None) -> None:
        self.gp, self.omega = gp, omega
        self.primal = isinstance(gp, FITC) and not gp.dual
        with torch.no_grad():
            # Nothing of this has a gradient, also where the kernel's scales are learned.
            if isinstance(gp, FITC) and self.primal:
                self._projected = gp.projection(gp.inputs)
            else:
                self._gram = gp.gram.detach()
            self.weights = self._solve() if weights is None else weights
            self._shared = self._shared_variances() if gp.iterative else None
            if self._shared is not None:
                return
            width = self.weights.shape[1]
            # Beyond this size the factors are made again for each batch, a few chains at a time.
            size = width * width * omega.element_size()
            chunk = max(1, CHUNK_BYTES // size)
            self._chunks = omega.split(chunk)
            self._kept = [self._factor(self._chunks[0])] if len(self._chunks) == 1 else None

    def moments(self, test_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """Mean and variance of f* - m* at `test_inputs` [T, d] (on the unit sphere) for every chain, each [C, T]."""
        with torch.no_grad():
            k_star, base = self._cross(test_inputs)
            if self._shared is not None:
                return self.weights @ k_star, self._shared.at(k_star, base)
            explained = torch.cat([_squares(*factor, k_star) for factor in self._factors()])
            v = base + explained if self.primal else base - explained
            return self.weights @ k_star, v.expand(len(self.omega), -1)

    def products(self) -> NodeProducts:
        """The same as plain matrices; inverses are made in double precision."""
        with torch.no_grad():
            factors, shared = self._inverse_factors()
            if not isinstance(self.gp, FITC):
                return NodeProducts(self.gp.inputs, None, None, self.weights, factors, -1.0, *shared)
            projection = self.gp.projection
            whitener = _inverse(projection.factor)
            lift = None if self.primal else projection(self.gp.inputs)[0].T
            sign = 1.0 if self.primal else -1.0
            return NodeProducts(projection.inducing, whitener, lift, self.weights, factors, sign, *shared)

    def _inverse_factors(self) -> tuple[Tensor, tuple[Tensor, Tensor] | tuple[()]]:
        """L^-1 D of every chain, or of all chains with their `spread` and `shifts`."""
        if self._shared is None:
            return torch.cat([_inverse(L, d) if d is not None else L for d, L in self._factors()]), ()
        if isinstance(self._shared, ProjectedVariances):
            inverse = _inverse(self._shared.L)
            return inverse[None], (self._shared.solved.T @ inverse, self._shared.shifts)
        d, L = self._shared.d, self._shared.L
        inverse = _inverse(L, d)
        spread = torch.linalg.solve_triangular(L.mT.double(), inverse.double(), upper=True) / d[:, None]
        return inverse[None], (spread.to(inverse), self._shared.shifts)

    def _cross(self, test_inputs: Tensor) -> tuple[Tensor, Tensor]:
        """k* [m, T] and b* [T]."""
        if isinstance(self.gp, FITC) and self.primal:
            return self.gp.projection(test_inputs)
        return self.gp.cross(test_inputs)

    def _shared_variances(self) -> ChainVariances | ProjectedVariances:
        if not self.primal:
            return ChainVariances.of(self._gram, self.omega)
        A, d = self._projected
        return ProjectedVariances.of(A, fitc_algebra.weights(d, self.omega, self.gp.kappa)[0])

    def _solve(self) -> Tensor:
        gp = self.gp
        if self.primal:
            A, d = self._projected
            g, h = fitc_algebra.weights(d, self.omega, gp.kappa)
            if not gp.iterative:
                return fitc_algebra.factorise(A, g, h)[1]
            start = fitc_solver.prior_preconditioner(A, d, d + column_squares(A))
            return fitc_solver.solve(A, g, h @ A.T, start, fitc_solver.MEAN_TOLERANCE, counters=gp.counters)
        d = self.omega.clamp_min(SMALLEST_OMEGA).sqrt()
        if gp.iterative:
            node = iterative.IterativeNode(self._gram, gp.counters)
            return node.solve_alpha(d, gp.kappa_given(self.omega))
        parts = []
        for chunk, kappa in dense.in_chunks(self.omega, gp.kappa_given(self.omega), CHUNK_BYTES // self._gram.nbytes):
            d, L = dense.factorise(self._gram, chunk)
            parts.append(dense.solve_alpha(d, L, kappa))
        return torch.cat(parts)

    def _factors(self) -> Iterator[tuple[Tensor | None, Tensor]]:
        yield from self._kept if self._kept is not None else map(self._factor, self._chunks)

    def _factor(self, omega: Tensor) -> tuple[Tensor | None, Tensor]:
        """The diagonal of D [c, m] and L [c, m, m]; of a small node None and L^-1 D."""
        if not self.primal:
            d, L = dense.factorise(self._gram, omega)
            if dense.by_inverse(self._gram):
                return None, torch.linalg.solve_triangular(L, torch.diag_embed(d), upper=False)
            return d, L
        A, d = self._projected
        L, _ = fitc_algebra.factorise(A, *fitc_algebra.weights(d, omega, self.gp.kappa))
        return L.new_ones(L.shape[:2]), L


def _inverse(L: Tensor, scale: Tensor | None = None) -> Tensor:
    """L^-1 diag(scale), [..., m, m], in the precision of L."""
    wide = L.double()
    right = torch.eye(L.shape[-1], dtype=wide.dtype) if scale is None else torch.diag_embed(scale.double())
    inverse: Tensor = torch.linalg.solve_triangular(wide, right.to(wide.device).expand_as(wide), upper=False)
    return inverse.to(L.dtype)


def _squares(scale: Tensor | None, L: Tensor, k_star: Tensor) -> Tensor:
    """|L^-1 D k*|^2 of every chain and column, [c, T], a few columns at a time; without scale, L stands for L^-1 D."""
    chains, m = L.shape[:2]
    blocks = k_star.split(max(1, CHUNK_BYTES // (chains * m * L.element_size())), dim=1)
    if scale is None:
        stacked = L.flatten(0, 1)  # one product for all chains
        solved = ((stacked @ block).view(chains, m, -1) for block in blocks)
    else:
        solved = (torch.linalg.solve_triangular(L, scale[..., None] * block, upper=False) for block in blocks)
    return torch.cat([V.square_().sum(1) for V in solved], dim=1)
