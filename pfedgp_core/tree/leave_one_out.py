"""Class probabilities of a client's own training samples, each from all others: no sample is predicted by itself."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from pfedgp_core.errors import ConfigError
from pfedgp_core.gp.class_ratio import apply_class_ratio
from pfedgp_core.gp.leave_one_out import left_out_sides
from pfedgp_core.gp.links import node_log_probabilities
from pfedgp_core.gp.prediction_cache import CachedNode
from pfedgp_core.numerics.quadrature import log_sigmoid_expectation
from pfedgp_core.tree.splits import Tree, class_log_probabilities
from pfedgp_core.tree.variants.base import ClientPoints, NodeGP
from pfedgp_core.tree.variants.prior_mean import node_log_odds

__all__ = ["know_their_points", "left_out_log_probabilities"]


def left_out_log_probabilities(
    tree: Tree,
    nodes: Sequence[tuple[NodeGP, Tensor]],
    caches: Sequence[CachedNode],
    points: ClientPoints,
    quadrature: int,
) -> Tensor:
    """log P(class of sample i | all samples but i), multiplied along the path, float64 [N, k].

    A node whose GP is conditioned on the sample predicts it without its label (`gp.leave_one_out`); any other node
    predicts it as usual. The link is the exact posterior predictive (``arith``), and the tree is that of all samples.

    Parameters
    ----------
    tree : Tree
    nodes : sequence of (NodeGP, omega [C, n])
    caches : sequence of CachedNode
        One a node.
    points : ClientPoints
        What the classifier was fitted to.
    quadrature : int
        As in ``gp.quadrature``.

    Raises
    ------
    ConfigError
        The nodes do not know which samples they are conditioned on.
    """
    if not know_their_points(known for known, _ in nodes):
        raise ConfigError(
            "The variant conditions a node on other points than it was given, so no sample can be left out: use one "
            "that keeps all points, such as full."
        )
    sides = []
    with torch.no_grad():
        for node, (known, omega), cache in zip(tree.nodes, nodes, caches, strict=True):
            mu, v = cache.moments(points.features)
            if points.logits is not None:
                mu = mu + node_log_odds(points.logits, node)
            left, right = node_log_probabilities(mu, v, "arith", quadrature)
            if known.log_ratio is not None:
                left, right = apply_class_ratio(left, right, *known.log_ratio)
            left, right = left.double(), right.double()
            if known.own is not None and len(known.own.places):
                left[known.own.rows], right[known.own.rows] = _without_themselves(known, omega, quadrature)
            sides.append((left, right))
        return class_log_probabilities(tree, sides, len(points.features)).double()


def know_their_points(nodes: Iterable[NodeGP]) -> bool:
    """Whether every node's GP holds as many points as its variant gave it, so that it is known which they are."""
    return all(node.own is None or len(node.gp.kappa) == node.own.among for node in nodes)


def _without_themselves(known: NodeGP, omega: Tensor, quadrature: int) -> tuple[Tensor, Tensor]:
    """log P(left) and log P(right) [m] of the node's own points."""
    assert known.own is not None
    mu, v = (moment[:, known.own.places].double() for moment in known.gp.leave_one_out(omega))
    on_left = known.gp.kappa[known.own.places] > 0
    log_left, log_right = log_sigmoid_expectation(mu, v, quadrature)
    own, other = left_out_sides(torch.where(on_left, log_left, log_right), torch.where(on_left, log_right, log_left))
    left, right = torch.where(on_left, own, other), torch.where(on_left, other, own)
    for ratio, rows in ((known.own.ratio_without_left, on_left), (known.own.ratio_without_right, ~on_left)):
        if ratio is not None:
            left[rows], right[rows] = apply_class_ratio(left[rows], right[rows], *ratio)
    return left, right
