"""The learning objective of a client: a loss on the features, summed over the nodes of the tree.

``predictive`` (paper, eq. 4): minus the log of the chain mean of P(side of a held-out point | omega), omega held fixed.
The gradient is that of log mean_c E sigma(s f*), computed by logsumexp over chains and quadrature nodes.
"""

import math
from collections import Counter

import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.quadrature import log_sigmoid_expectation
from pfedgp_core.streams import Stream
from pfedgp_core.tree import Tree
from pfedgp_core.variants import Variant

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
    features: Tensor,
    labels: Tensor,
    tree: Tree,
    variant: Variant,
    settings: Settings,
    stream: Stream,
    counters: Counter[str],
) -> Tensor | None:
    """The client's loss, differentiable in `features`.

    Parameters
    ----------
    features : Tensor [N, d]
        On the unit sphere.
    labels : Tensor [N]
        Class ids.
    tree : Tree
    variant : Variant
    settings : Settings
        ``loss_normalisation``: ``node-mean`` adds up the means of the nodes (the authors' code, to which the default
        learning rate belongs); ``point-mean`` is the mean over points of their whole path (the paper's text).
    stream : Stream
        Gives every node its own child stream.
    counters : Counter
        ``node_skipped`` counts nodes without a held-out point.

    Returns
    -------
    Tensor, 0-d, or None where no node had anything to predict.
    """
    terms: list[Tensor] = []
    points = 0
    for node in tree.nodes:
        node_stream = stream.child(node.index)
        problem = variant.training_problem(node, features, labels, node_stream, counters)
        if problem is None:
            counters["node_skipped"] += 1
            continue
        omega = problem.gp.sample_omega(settings.gp.train_chains, settings.gp.sweeps, node_stream)
        mu, v = problem.gp.predict(problem.targets, omega)
        losses = predictive_losses(mu, v, problem.target_left, settings.gp.quadrature)
        terms.append(losses.mean() if settings.loss_normalisation == "node-mean" else losses.sum())
        points = max(points, len(losses))
    if not terms:
        return None
    total = torch.stack(terms).sum()
    return settings.loss_scale * (total if settings.loss_normalisation == "node-mean" else total / points)
