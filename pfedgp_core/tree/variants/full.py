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
        kept, out = (keep_left.shape[0], keep_right.shape[0]), (out_left.shape[0], out_right.shape[0])
        if not min(kept) or not sum(out):
            return None
        inputs = points.features.index_select(0, torch.cat([keep_left, keep_right]))
        targets = points.features.index_select(0, torch.cat([out_left, out_right]))
        gp = self.node_gp(node, points, inputs, side_labels(*kept, inputs), counters, targets)
        return NodeProblem(NodeGP(gp), targets, side_labels(*out, targets))

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
    own = points.features.index_select(0, points.rows(side))
    missing = sorted(set(side) - points.present)
    if not missing or points.inducing is None:
        return own
    return torch.cat([own, points.inducing_of(missing).flatten(0, 1)])


def _hold_out(rows: Tensor, share: float, stream: Stream) -> tuple[Tensor, Tensor]:
    """Split rows at random in (kept, held out); floor(share * n) are held out, so a single row is always kept."""
    order = rows[stream.permutation(rows.shape[0])]
    count = int(share * rows.shape[0])
    return order[count:], order[:count]
