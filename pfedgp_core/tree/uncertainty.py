r"""The uncertainty of a prediction, and the part of it that more data could remove.

The entropy of a class tree is, by the chain rule, the sum over its nodes of P(node is reached) times the entropy of the
node's binary decision. Both halves of the split are such sums:

.. math::
    \underbrace{H[P(y)]}_{\text{entropy}} = \sum_v P(v) \, h(p_v), \qquad
    \underbrace{E_f \, H[P(y \mid f)]}_{\text{aleatoric}} = \sum_v P(v) \, E_{f_v} h(\sigma(f_v)), \qquad
    \text{epistemic} = \text{entropy} - \text{aleatoric} = I[y; f]

with h(p) = -p log p - (1 - p) log(1 - p), in nats, and p_v = E sigma(f_v). The second is exact because the latents of
different nodes are independent given the data: P(v is reached | f) depends on the nodes above v alone, and its mean is
P(v). The law of f_v is the mixture over Gibbs chains of normal distributions, each by Gauss-Hermite quadrature. The
epistemic part is what knowing f would tell about y, and is never negative: more data of this site could remove it. The
aleatoric part would stay.

Where a node's probability is corrected for the class ratio (``ip-data``), both parts follow the corrected joint law
P'(y, f) ~ r_y P(y | f) P(f), whose marginal is the corrected probability. The links ``chain-geo`` and
``paper-explog`` are no averages over f; there the aleatoric part of a node is cut off at the entropy of the reported
probability.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import softplus

from pfedgp_core.metrics.temperature import temperature_scale
from pfedgp_core.numerics.quadrature import NODES, gauss_hermite
from pfedgp_core.tree.splits import Tree

__all__ = ["Prediction", "binary_entropy", "expected_entropy", "split_entropy"]

_SMALLEST_VARIANCE = 1e-10
_CHUNK = 2**22  # values [C, T, q] at a time


@dataclass(frozen=True)
class Prediction:
    """Class probabilities of T samples and the uncertainty of the posterior in nats.

    Attributes
    ----------
    probabilities : numpy.ndarray, float64 [T, k]
        Rows sum to 1.
    entropy, aleatoric, epistemic : numpy.ndarray, float64 [T]
        Entropy of the posterior's row, and its two parts, which sum to it; the same at any temperature.
    predicted : numpy.ndarray, int64 [T]
        Column of the posterior's most probable class; the same at any temperature.
    """

    probabilities: np.ndarray
    entropy: np.ndarray
    aleatoric: np.ndarray
    epistemic: np.ndarray
    predicted: np.ndarray

    def at(self, temperature: float) -> "Prediction":
        """The posterior's prediction with its probabilities at a temperature, softmax(log p / T).

        The uncertainty stays that of the posterior: its two parts are defined for it alone. So do the answers; rounding
        may make probabilities equal that differed, and would then decide otherwise.

        Raises
        ------
        ConfigError
            The temperature is not a positive finite number.
        """
        if temperature == 1:
            return self
        return replace(self, probabilities=temperature_scale(self.probabilities, temperature))

    def reweighted(self, weights: np.ndarray) -> "Prediction":
        """The same with probabilities times the weights [k], and the most probable class by these.

        The uncertainty stays that of the posterior.
        """
        products = self.probabilities * weights
        sums = products.sum(axis=1, keepdims=True)
        corrected = np.divide(products, sums, out=self.probabilities.copy(), where=sums > 0)
        return replace(self, probabilities=corrected, predicted=corrected.argmax(axis=1))


def binary_entropy(log_left: Tensor, log_right: Tensor) -> Tensor:
    """h of a decision with log-probabilities that are normalised, in nats; -inf counts as probability 0."""
    return -sum((torch.where(log > -math.inf, log, 0.0) * log.exp() for log in (log_left, log_right)), torch.zeros(()))


def expected_entropy(
    mu: Tensor, v: Tensor, quadrature: int = NODES, log_ratio: tuple[float, float] | None = None
) -> Tensor:
    """E h(sigma(f*)) over the chains' mixture of N(mu, v), in nats.

    Parameters
    ----------
    mu, v : Tensor [C, T]
        Mean and variance of f* in every chain.
    quadrature : int
        Gauss-Hermite nodes; 0 is `NODES`, because this expectation has no closed form.
    log_ratio : (float, float), optional
        Logarithms of the class-ratio correction r of left and right.

    Returns
    -------
    Tensor [T]
    """
    x, log_w = gauss_hermite(quadrature or NODES, mu.dtype, mu.device)
    left, right = log_ratio or (0.0, 0.0)
    parts = []
    step = max(1, _CHUNK // (len(mu) * len(x)))
    for m, s in zip(mu.split(step, 1), v.clamp_min(_SMALLEST_VARIANCE).sqrt().split(step, 1), strict=True):
        f = m[..., None] + s[..., None] * x  # [C, t, q]
        log_mass = log_w.expand_as(f)
        if log_ratio is not None:
            # P'(f) ~ (r_left sigma(f) + r_right sigma(-f)) P(f); P'(left | f) = sigma(f + log r_left / r_right).
            log_mass = log_mass + torch.logaddexp(left - softplus(-f), right - softplus(f))
            f = f + (left - right)
        distance = f.abs()
        entropy = softplus(-distance) + distance * torch.sigmoid(-distance)
        mass = torch.softmax(log_mass.transpose(1, 2).flatten(0, 1), 0)  # [C q, t]
        parts.append((mass * entropy.transpose(1, 2).flatten(0, 1)).sum(0))
    return torch.cat(parts)


def split_entropy(
    tree: Tree, log_probabilities: Tensor, node_entropies: Sequence[tuple[Tensor, Tensor]]
) -> tuple[np.ndarray, np.ndarray]:
    """Entropy and aleatoric part of a whole tree.

    Parameters
    ----------
    tree : Tree
        Over columns 0..k-1.
    log_probabilities : Tensor [T, k]
        Of the classes.
    node_entropies : sequence of (Tensor [T], Tensor [T])
        For each node, entropy of its probability and expected entropy given f.

    Returns
    -------
    tuple of numpy.ndarray, float64 [T]
    """
    probabilities = log_probabilities.double().exp()
    total = probabilities.new_zeros(len(probabilities))
    aleatoric = total.clone()
    for node, (marginal, expected) in zip(tree.nodes, node_entropies, strict=True):
        reached = probabilities[:, [*node.left, *node.right]].sum(1)
        total += reached * marginal.double()
        aleatoric += reached * torch.minimum(expected.double(), marginal.double())
    return total.cpu().numpy(), aleatoric.cpu().numpy()
