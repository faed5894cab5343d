"""The variant ``full``: a GP on the client's own points (paper, section 4.1)."""

from collections import Counter

import torch
from torch import Tensor

from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.variants.base import ClientPoints, NodeGP, NodeProblem, Sides, Variant, side_labels

__all__ = ["Full"]


class Full(Variant):
    """Conditioned on the client's own points; in training on a random part of each side, which predicts the rest."""

    def training_problem(
        self, node: Sides, points: ClientPoints, stream: Stream, counters: Counter[str]
    ) -> NodeProblem | None:
        """See ``Variant``."""
        left, right = (points.rows(side) for side in (node.left, node.right))
        keep_left, out_left = _hold_out(left, self.settings.gp.holdout, stream)
        keep_right, out_right = _hold_out(right, self.settings.gp.holdout, stream)
        if not len(keep_left) or not len(keep_right) or not len(out_left) + len(out_right):
            return None
        inputs = points.features[torch.cat([keep_left, keep_right])]
        targets = points.features[torch.cat([out_left, out_right])]
        labels = side_labels(len(keep_left), len(keep_right), inputs)
        gp = self.node_gp(node, points, inputs, labels, counters, targets)
        return NodeProblem(NodeGP(gp), targets, side_labels(len(out_left), len(out_right), targets))

    def conditioned(self, node: Sides, points: ClientPoints, counters: Counter[str]) -> NodeGP:
        """See ``Variant``."""
        left, right = (_with_stand_ins(points, side) for side in (node.left, node.right))
        inputs = torch.cat([left, right])
        return NodeGP(self.node_gp(node, points, inputs, side_labels(len(left), len(right), inputs), counters))

    def node_gp(
        self,
        node: Sides,
        points: ClientPoints,
        inputs: Tensor,
        labels: Tensor,
        counters: Counter[str],
        targets: Tensor | None = None,
    ) -> FullGP | FITC:
        """The node's GP.

        Parameters
        ----------
        node : Sides
        points : ClientPoints
        inputs : Tensor [n, d]
            What it is conditioned on.
        labels : Tensor [n] of bool
            Which of them are on the left.
        counters : Counter
        targets : Tensor [T, d], optional
            What it will predict, where that is known.
        """
        return self.full_gp(inputs, labels, counters)


def _with_stand_ins(points: ClientPoints, side: tuple[int, ...]) -> Tensor:
    """Points of a side; a class without any is represented by its inducing inputs."""
    own = points.features[points.rows(side)]
    missing = sorted(set(side) - points.present)
    if not missing or points.inducing is None:
        return own
    return torch.cat([own, points.inducing_of(missing).flatten(0, 1)])


def _hold_out(rows: Tensor, share: float, stream: Stream) -> tuple[Tensor, Tensor]:
    """Split rows at random in (kept, held out); floor(share * n) are held out, so a single row is always kept."""
    order = rows[stream.permutation(len(rows))]
    count = int(share * len(rows))
    return order[count:], order[:count]
