r"""Predictive variances of all chains from one factorisation, at their mean omega.

The variance v of f* depends on a chain only through its omega. Let it be v at the mean omega, where f_i and f* have the
covariance c_i and f_i the variance s_i. Changing omega_i alone by delta changes v by exactly
:math:`-c_i^2 \delta / (1 + s_i \delta)`. With delta_ci what chain c has more than the mean, let

.. math::
    r_{ci} = \frac{c_i^2}{v} \frac{\delta_{ci}}{1 + s_i \delta_{ci}}

and j the point of the largest covariance: a training point itself, where f* is there. Its change is taken exactly, all
others together as exp of their sum:

.. math::
    v_c \approx v (1 - r_{cj}) \exp\Big(-\sum_{i \ne j} r_{ci}\Big)

This is right to first order in all changes, keeps the convexity of each, and is never negative. A node probability is
off by less than 1e-3 in the tables of docs/solver.md, at training points too; at the mean omega alone, which leaves out
that the chains differ, it was ten times that. In the M x M form of a FITC node the weights g take the place of omega,
and a_i'u that of f_i.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from pfedgp_core.gp import dense

__all__ = ["ChainVariances", "ProjectedVariances", "shifted"]

BLOCK_BYTES = 2**28  # of the solved columns at a time
_LEAST = 1e-12  # of a variance that is divided by


class ChainVariances(NamedTuple):
    """What the variances at any points need of one node.

    Attributes
    ----------
    d : Tensor [n]
        Square roots of the mean omega.
    L : Tensor [n, n]
        Lower Cholesky factor of B = I + D K D.
    shifts : Tensor [C, n]
        delta / (1 + s delta) of every chain and point.
    """

    d: Tensor
    L: Tensor
    shifts: Tensor

    @classmethod
    def of(cls, K: Tensor, omega: Tensor) -> "ChainVariances":
        """For the Gram matrix K [n, n] and the chains' omega [C, n]."""
        mean = omega.mean(0, keepdim=True)
        (d,), (L,) = dense.factorise(K, mean)
        # 1 - (B^-1)_ii = omega_i s_i; delta is no smaller than -omega, so that 1 + s delta is positive.
        kept = torch.cholesky_inverse(L).diagonal()
        delta = omega - mean
        return cls(d, L, delta / (1 + (1 - kept) / d.square() * delta))

    def at(self, K_star: Tensor, k_star_star: Tensor) -> Tensor:
        """Variances [C, T] at points of cross covariance K_star [n, T] and prior variance k_star_star [T]."""
        width = max(1, BLOCK_BYTES // (2 * len(self.d) * K_star.element_size()))
        blocks = zip(K_star.split(width, dim=1), k_star_star.split(width), strict=True)
        return torch.cat([self._block(*block) for block in blocks], dim=1)

    def _block(self, K_star: Tensor, k_star_star: Tensor) -> Tensor:
        V = torch.linalg.solve_triangular(self.L, self.d[:, None] * K_star, upper=False)
        v = k_star_star - V.square().sum(0)
        covariance = torch.linalg.solve_triangular(self.L.mT, V, upper=True).div_(self.d[:, None])
        return shifted(v, self.shifts, covariance.square_())


class ProjectedVariances(NamedTuple):
    """The same for a FITC node in its M x M form: B = I + A diag(g) A' at the chains' mean weights g.

    Attributes
    ----------
    L : Tensor [M, M]
        Lower Cholesky factor of B.
    solved : Tensor [M, n]
        L^-1 A.
    shifts : Tensor [C, n]
    """

    L: Tensor
    solved: Tensor
    shifts: Tensor

    @classmethod
    def of(cls, A: Tensor, g: Tensor) -> "ProjectedVariances":
        """For the whitened cross kernel A [M, n] and the chains' weights g [C, n] of `fitc_algebra.weights`."""
        mean = g.mean(0)
        L, _ = torch.linalg.cholesky_ex(torch.eye(len(A), dtype=A.dtype, device=A.device).addmm_(A * mean, A.T))
        solved = torch.linalg.solve_triangular(L, A, upper=False)
        delta = g - mean
        return cls(L, solved, delta / (1 + solved.square().sum(0) * delta))

    def at(self, A_star: Tensor, d_star: Tensor) -> Tensor:
        """Variances [C, T] at points of whitened cross kernel A_star [M, T] and residual variance d_star [T]."""
        width = max(1, BLOCK_BYTES // (2 * self.solved.shape[1] * A_star.element_size()))
        parts = []
        for columns, residual in zip(A_star.split(width, dim=1), d_star.split(width), strict=True):
            V = torch.linalg.solve_triangular(self.L, columns, upper=False)
            parts.append(residual + shifted(V.square().sum(0), self.shifts, (self.solved.T @ V).square_()))
        return torch.cat(parts, dim=1)


def shifted(v: Tensor, shifts: Tensor, squares: Tensor) -> Tensor:
    """The variances of every chain, [C, T].

    Parameters
    ----------
    v : Tensor [T]
        At the mean omega.
    shifts : Tensor [C, n]
    squares : Tensor [n, T]
        Of the covariances.
    """
    base = v.clamp_min(_LEAST)
    largest, places = squares.max(0)
    first = shifts[:, places] * (largest / base)
    found: Tensor = (shifts @ squares).div_(base).neg_().add_(first).exp_().mul_(1 - first).mul_(v)
    return found
