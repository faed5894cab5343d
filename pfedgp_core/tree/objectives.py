"""The learning objectives of a client: a loss on the features, summed over the nodes of the tree.

* ``predictive`` (paper, eq. 4): minus the log of the chain mean of P(side of a held-out point | omega). The gradient is
  that of log mean_c E sigma(s f*), computed in log space.
* ``marginal`` (paper, eq. 2): minus the chain mean of log p(y | omega), divided by the node's points. By Fisher's
  identity its gradient estimates that of log p(y); its value is not log p(y) and is reported only as a loss.
* ``loo`` (Jankowiak and Pleiss 2021, here for classes): minus the chain mean of log P(side of a point | omega, all
  other labels). Every point is predicted once, from all others, in closed form (`gp.leave_one_out`). Its gradient is
  that of log sum_c w_c q_c, which ``predictive`` takes with equal weights; here w_c ~ 1 / q_c undoes what omega has
  seen of the point's own label, and is held fixed like omega. The value is at most -log p(y_i | y_-i), and is reported
  only as a loss.

omega is held fixed in all three.
"""

import math
from collections import Counter

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.gp.class_ratio import apply_class_ratio
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.gp.nodes import leave_one_out_moments, sample_nodes, training_moments
from pfedgp_core.numerics.quadrature import log_sigmoid_expectation
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.splits import Tree
from pfedgp_core.tree.variants.base import ClientPoints, NodeProblem, Variant

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
        Gives every node its own child stream; see `gp.nodes` for nodes that are sampled together.
    counters : Counter
        ``node_skipped`` counts nodes without anything to predict.

    Returns
    -------
    Tensor, 0-d, or None where no node had anything to predict.
    """
    found = _LOSSES[settings.objective](points, tree, variant, settings, stream, counters)
    if found is None:
        return None
    losses, lengths = found
    if settings.loss_normalisation == "node-mean":
        shares = torch.from_numpy(np.repeat(1.0 / np.array(lengths), lengths))
        return settings.loss_scale * (losses * shares.to(losses, non_blocking=True)).sum()
    return settings.loss_scale * (losses.sum() / max(lengths))


def _predictive(
    points: ClientPoints, tree: Tree, variant: Variant, settings: Settings, stream: Stream, counters: Counter[str]
) -> tuple[Tensor, list[int]] | None:
    """Losses [T] of the held-out points of all nodes, those of a node side by side, and how many each node has."""
    variant = variant.for_tree(tree, points, counters)
    streams = [stream.child(node.index) for node in tree.nodes]
    stated = variant.training_problems(tree.nodes, points, streams, counters)
    some = [(problem, own) for problem, own in zip(stated, streams, strict=True) if problem is not None]
    if len(some) < len(stated):
        counters["node_skipped"] += len(stated) - len(some)
    if not some:
        return None
    gp, problems = settings.gp, [problem for problem, _ in some]
    order, mu, v = training_moments(
        [p.known.gp for p in problems],
        [p.targets for p in problems],
        [own for _, own in some],
        gp.train_chains,
        gp.sweeps,
        counters,
    )
    problems = [problems[i] for i in order]
    lengths = [len(p.targets) for p in problems]
    if all(p.target_mean is not None for p in problems):
        mu = mu + torch.cat([p.target_mean for p in problems if p.target_mean is not None])
    # One quadrature for the points of all nodes.
    if all(p.known.log_ratio is None and p.weights is None for p in problems):
        return predictive_losses(mu, v, torch.cat([p.target_left for p in problems]), gp.quadrature), lengths
    sides = (side.split(lengths) for side in node_log_probabilities(mu, v, "arith", gp.quadrature))
    losses = [_corrected(p, left, right) for p, left, right in zip(problems, *sides, strict=True)]
    return torch.cat([_weighted(p, loss) for p, loss in zip(problems, losses, strict=True)]), lengths


def _corrected(problem: NodeProblem, left: Tensor, right: Tensor) -> Tensor:
    """Losses [T] of a node from its log-probabilities [T], with its class ratio."""
    if problem.known.log_ratio is not None:
        left, right = apply_class_ratio(left, right, *problem.known.log_ratio)
    return -torch.where(problem.target_left, left, right)


def _weighted(problem: NodeProblem, losses: Tensor) -> Tensor:
    return losses if problem.weights is None else losses * problem.weights.to(losses)


def _marginal(
    points: ClientPoints, tree: Tree, variant: Variant, settings: Settings, stream: Stream, counters: Counter[str]
) -> tuple[Tensor, list[int]] | None:
    """Every node's share of -log p(y | omega) for each of its points, all alike within a node, and their numbers."""
    if not tree.nodes:
        return None
    variant = variant.for_tree(tree, points, counters)
    gps = [variant.conditioned(node, points, counters).gp for node in tree.nodes]
    streams = [stream.child(node.index) for node in tree.nodes]
    omegas = sample_nodes(gps, streams, settings.gp.train_chains, settings.gp.sweeps, counters)
    lengths = [omega.shape[1] for omega in omegas]
    shares = [(-gp.log_marginal(omega).mean() / n).expand(n) for gp, omega, n in zip(gps, omegas, lengths, strict=True)]
    return torch.cat(shares), lengths


def _leave_one_out(
    points: ClientPoints, tree: Tree, variant: Variant, settings: Settings, stream: Stream, counters: Counter[str]
) -> tuple[Tensor, list[int]] | None:
    """Losses of the client's points at every node that has some, side by side, and how many each node has."""
    variant, gp = variant.for_tree(tree, points, counters), settings.gp
    known = [variant.conditioned(node, points, counters) for node in tree.nodes]
    streams = [stream.child(node.index) for node in tree.nodes]
    moments = leave_one_out_moments([node.gp for node in known], streams, gp.train_chains, gp.sweeps, counters)
    means, variances, lengths = [], [], []
    for node, (mu, v) in zip(known, moments, strict=True):
        assert node.own is not None  # the variants that this objective goes with are conditioned on the client's points
        places = node.own.places
        if not len(places):
            counters["node_skipped"] += 1
            continue
        means.append(mu.index_select(1, places) * (2 * node.gp.kappa.index_select(0, places)))
        variances.append(v.index_select(1, places))
        lengths.append(len(places))
    if not lengths:
        return None
    log_own, _ = log_sigmoid_expectation(torch.cat(means, 1), torch.cat(variances, 1), gp.quadrature)
    return -log_own.mean(0), lengths


_LOSSES = {"predictive": _predictive, "marginal": _marginal, "loo": _leave_one_out}
