r"""Class probabilities and losses of a tree under the product of its nodes' posteriors, exactly and without sampling.

Q draws the latent function of every node independently. Two ways to classify with a draw f:

* *sign*: go left where f > 0. The loss of (x, y) is 0 or 1.
* *soft*: go left with probability sigma(f), as the model's likelihood does. The loss is the probability to arrive
  elsewhere than at y, a number in [0, 1].

Because nodes are independent under Q, the expected loss is one minus a product along the path to y,

.. math::
    E_Q \ell(f; x, y) = 1 - \prod_{v \in path(y)} \frac1C \sum_c g(s_v m_{vc}, \Sigma_{vc}), \qquad
    g = \Phi(m / \sqrt{\Sigma}) \text{ (sign)}, \quad E \sigma(N(m, \Sigma)) \text{ (soft)}.

A class outside the tree is never reached: loss 1. The soft products are the probabilities that a classifier with link
"arith" gives out.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from pfedgp_core.certificate.node_posterior import exact_gp
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.tree.classifier import PersonalClassifier
from pfedgp_core.tree.splits import Node, Tree
from pfedgp_core.tree.variants.base import rows_of
from pfedgp_core.tree.variants.prior_mean import node_log_odds

__all__ = ["Sides", "TreeProbabilities", "class_probabilities", "matched", "node_rows", "path_probabilities", "sides"]

RADIUS = 9.0  # a standard normal has 2e-19 beyond
DIGITS = 32.0  # -log of the trapezoid rule's error
CHUNK_POINTS = 4096


class Sides(NamedTuple):
    """Chain means of the probability of a node's left child, [2, n] = (sign, soft), and of its right child."""

    left: Tensor
    right: Tensor


class TreeProbabilities(NamedTuple):
    """Class probabilities [T, k] of the sign and of the soft classifier, columns as ``classifier.classes_``."""

    sign: np.ndarray
    soft: np.ndarray


def sides(mean: Tensor, variance: Tensor) -> Sides:
    """Probabilities of both children from the moments [C, n] of a node's latents under each chain."""
    deviation = variance.clamp_min(1e-300).sqrt()
    z = mean / deviation
    soft_left, soft_right = _expected_sigmoid(mean, deviation)
    left = torch.stack([torch.special.ndtr(z).mean(0), soft_left.mean(0)])
    right = torch.stack([torch.special.ndtr(-z).mean(0), soft_right.mean(0)])
    return Sides(left, right)


def _expected_sigmoid(mean: Tensor, deviation: Tensor) -> tuple[Tensor, Tensor]:
    """E sigma(f) and E sigma(-f), f ~ N(mean, deviation^2), by the trapezoid rule over the standard normal z.

    The integrand is analytic for |Im z| < pi / deviation, so with b = 0.9 pi / deviation (at most 8) the step
    2 pi b / (32 + b^2 / 2) leaves an error of about exp(-32) = 1e-14.
    """
    b = min(8.0, 0.9 * math.pi / max(float(deviation.max()), 1e-300))
    step = 2 * math.pi * b / (DIGITS + b * b / 2)
    half = math.ceil(RADIUS / step)
    left, right = torch.zeros_like(mean), torch.zeros_like(mean)
    for j in range(-half, half + 1):
        z = j * step
        weight = step * math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi)
        f = mean + z * deviation
        left.add_(f.sigmoid(), alpha=weight)
        right.add_(f.neg_().sigmoid_(), alpha=weight)
    return left, right


def node_rows(labels: Tensor, node: Node) -> Tensor:
    """Samples of a node in the order of its GP: those of the left classes, then those of the right ones."""
    return torch.cat([rows_of(labels, node.left), rows_of(labels, node.right)])


def path_probabilities(tree: Tree, labels: Tensor, node_sides: Sequence[Sides]) -> Tensor:
    """Probability under Q to arrive at its own class, of every fitted sample, [2, N] = (sign, soft).

    Parameters
    ----------
    tree : Tree
        Over positions 0..k-1.
    labels : Tensor [N]
        Positions.
    node_sides : sequence of Sides
        At the samples of each node, in the order of ``node_rows``.
    """
    result = torch.ones(2, len(labels), dtype=torch.float64)
    for node, (left, right) in zip(tree.nodes, node_sides, strict=True):
        rows = node_rows(labels, node)
        count = len(rows_of(labels, node.left))
        result[:, rows] *= torch.cat([left[:, :count], right[:, count:]], 1)
    return result


def matched(mean: Tensor, variance: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of the Gaussian with the moments of the chains' mixture; shapes: [C, n] -> [1, n] each."""
    centre = mean.mean(0, keepdim=True)
    return centre, variance.mean(0, keepdim=True) + (mean - centre).square().mean(0, keepdim=True)


def class_probabilities(
    classifier: PersonalClassifier, features: ArrayLike | Tensor, one_gaussian: bool = False
) -> TreeProbabilities:
    """Class probabilities of new points under Q, in float64 and without any approximation of the solver.

    The arg max of ``sign`` and of ``soft`` (first of equals) are the two deterministic classifiers that a certificate
    covers.

    Parameters
    ----------
    classifier : PersonalClassifier
        Fitted; without class-ratio correction.
    features : array or Tensor [T, d]
        Raw features of the network.
    one_gaussian : bool
        Under the Gaussian that has the moments of the chains' mixture at each node, in place of the mixture.
    """
    raw = features.detach() if isinstance(features, Tensor) else torch.as_tensor(np.asarray(features))
    inputs = unit_sphere(raw if raw.is_floating_point() else raw.float()).double().cpu()
    total = torch.ones(2, len(inputs), len(classifier.tree_.classes), dtype=torch.float64)
    with torch.no_grad():
        logits = classifier.head_logits(raw)
        for node, (known, omega) in zip(classifier.tree_.nodes, classifier.nodes_, strict=True):
            gp, weights = exact_gp(known.gp), omega.detach().double().cpu()
            start = 0
            for part in inputs.split(CHUNK_POINTS):
                mu, v = gp.predict(part, weights)
                mu, v = matched(mu, v) if one_gaussian else (mu, v)
                rows = slice(start, start + len(part))
                if logits is not None:
                    mu = mu + node_log_odds(logits[rows], node).double().cpu()
                left, right = sides(mu, v)
                total[:, rows, list(node.left)] *= left[..., None]
                total[:, rows, list(node.right)] *= right[..., None]
                start += len(part)
    return TreeProbabilities(total[0].numpy(), total[1].numpy())
