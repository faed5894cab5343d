"""The learning objectives of a client: a loss on the features, summed over the nodes of the tree.

* ``predictive`` (paper, eq. 4): minus the log of the chain mean of P(side of a held-out point | omega). The gradient is
  that of log mean_c E sigma(s f*), computed in log space.
* ``marginal`` (paper, eq. 2): minus the chain mean of log p(y | omega), divided by the node's points. By Fisher's
  identity its gradient estimates that of log p(y); its value is not log p(y) and is reported only as a loss.

omega is held fixed in both.
"""

import math
from collections import Counter

import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.gp.class_ratio import apply_class_ratio
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.numerics.quadrature import log_sigmoid_expectation
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.splits import Node, Tree
from pfedgp_core.tree.variants.base import ClientPoints, Variant

__all__ = ["predictive_losses", "tree_loss"]


def predictive_losses(mu: Tensor, v: Tensor, left: Tensor, quadrature: int) -> Tensor:
    """-log mean over chains of E sigma(s f*) for every held-out point, s = +1 for left and -1 for right.

    Parameters
    ----------
    mu, v : Tensor [C, T]
        Moments of f* in every chain.
    left : Tensor [T] of bool
    quadrature : int
        Gauss-Hermite nodes.

    Returns
    -------
    Tensor [T]
    """
    sign = left.to(mu.dtype) * 2 - 1
    log_side, _ = log_sigmoid_expectation(sign * mu, v, quadrature)
    return math.log(len(mu)) - torch.logsumexp(log_side, 0)


def tree_loss(
    points: ClientPoints, tree: Tree, variant: Variant, settings: Settings, stream: Stream, counters: Counter[str]
) -> Tensor | None:
    """The client's loss, differentiable in the points and in the kernel's scales.

    Parameters
    ----------
    points : ClientPoints
    tree : Tree
    variant : Variant
    settings : Settings
        ``loss_normalisation``: ``node-mean`` adds up the means of the nodes (the authors' code, to which the default
        learning rate belongs); ``point-mean`` is the mean over points of their whole path (the paper's text).
    stream : Stream
        Gives every node its own child stream.
    counters : Counter
        ``node_skipped`` counts nodes without anything to predict.

    Returns
    -------
    Tensor, 0-d, or None where no node had anything to predict.
    """
    node_losses = _marginal if settings.objective == "marginal" else _predictive
    terms: list[Tensor] = []
    most = 0
    for node in tree.nodes:
        losses = node_losses(node, points, variant, settings, stream.child(node.index), counters)
        if losses is None:
            counters["node_skipped"] += 1
            continue
        terms.append(losses.mean() if settings.loss_normalisation == "node-mean" else losses.sum())
        most = max(most, len(losses))
    if not terms:
        return None
    total = torch.stack(terms).sum()
    return settings.loss_scale * (total if settings.loss_normalisation == "node-mean" else total / most)


def _predictive(
    node: Node, points: ClientPoints, variant: Variant, settings: Settings, stream: Stream, counters: Counter[str]
) -> Tensor | None:
    """Losses of the node's held-out points, [T]."""
    problem = variant.training_problem(node, points, stream, counters)
    if problem is None:
        return None
    gp, log_ratio = problem.known.gp, problem.known.log_ratio
    omega = gp.sample_omega(settings.gp.train_chains, settings.gp.sweeps, stream)
    mu, v = gp.predict(problem.targets, omega)
    if log_ratio is None:
        return predictive_losses(mu, v, problem.target_left, settings.gp.quadrature)
    left, right = apply_class_ratio(*node_log_probabilities(mu, v, "arith", settings.gp.quadrature), *log_ratio)
    return -torch.where(problem.target_left, left, right)


def _marginal(
    node: Node, points: ClientPoints, variant: Variant, settings: Settings, stream: Stream, counters: Counter[str]
) -> Tensor | None:
    """The node's share of -log p(y | omega) for each of its points, [n]; all alike."""
    gp = variant.conditioned(node, points, counters).gp
    omega = gp.sample_omega(settings.gp.train_chains, settings.gp.sweeps, stream)
    return (-gp.log_marginal(omega).mean() / omega.shape[1]).expand(omega.shape[1])
