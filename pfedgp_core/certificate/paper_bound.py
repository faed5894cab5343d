"""The bound as the paper prints it, kept for comparison: it is an estimate and bounds nothing.

The leave-one-out estimate of the mutual information (paper, section 4.4) is too large in expectation, so the KL is too
small; and theorem 1 adds the inverse kl to the empirical risk, which counts the risk twice.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from pfedgp_core.certificate.pac_bayes import mutual_information, pac_bayes_bound

__all__ = ["PaperBound", "paper_bound"]


@dataclass(frozen=True)
class PaperBound:
    """Estimates without any guarantee; None with fewer than two chains.

    Attributes
    ----------
    kl : float
        Sum over nodes of mean_c KL_c minus the leave-one-out mutual information.
    inverse : float
        Inverse kl of the empirical Gibbs risk with that KL and log((n + 1) / delta).
    printed : float
        Empirical risk plus ``inverse``, as theorem 1 reads, at most 1.
    """

    kl: float | None
    inverse: float | None
    printed: float | None


def paper_bound(
    risk: float, kl_convex: float, pairs: Sequence[tuple[Tensor, Tensor]], n: int, delta: float
) -> PaperBound:
    """The paper's estimators for a tree.

    Parameters
    ----------
    risk : float
        Empirical Gibbs risk.
    kl_convex : float
        Sum over nodes of mean_c KL_c.
    pairs : sequence of (f [C, n_v], omega [C, n_v])
        One pair a chain, for every node.
    n : int
        Samples of the tree.
    delta : float
    """
    if any(len(omega) < 2 for _, omega in pairs):
        return PaperBound(None, None, None)
    information = math.fsum(mutual_information(f, omega.cpu(), inclusive=False).value for f, omega in pairs)
    kl = max(0.0, kl_convex - information)
    inverse = float(pac_bayes_bound(risk, kl, n, delta, "seeger"))
    return PaperBound(kl, inverse, min(1.0, risk + inverse))
