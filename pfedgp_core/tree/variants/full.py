"""The variant ``full``: a GP on the client's own points (paper, section 4.1)."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.variants.base import ClientPoints, NodeGP, NodeProblem, OwnPoints, Sides, Variant, side_labels
from pfedgp_core.tree.variants.class_weights import BALANCED, balanced_ratio, balanced_weights
from pfedgp_core.tree.variants.prior_mean import node_log_odds

__all__ = ["Full"]


class Full(Variant):
    """Conditioned on the client's own points; in training on a random part of each side, which predicts the rest."""

    def training_problem(
        self, node: Sides, points: ClientPoints, stream: Stream, counters: Counter[str]
    ) -> NodeProblem | None:
        """See ``Variant``."""
        return self.training_problems([node], points, [stream], counters)[0]

    def training_problems(
        self, nodes: Sequence[Sides], points: ClientPoints, streams: Sequence[Stream], counters: Counter[str]
    ) -> list[NodeProblem | None]:
        """See ``Variant``; the points of all nodes are gathered at once, and so are their gradients."""
        parts = [
            _hold_out(node, points, self.settings.gp.holdout, stream)
            for node, stream in zip(nodes, streams, strict=True)
        ]
        chosen = [half for part in parts if part is not None for half in part]
        if not chosen:
            return [None] * len(parts)
        rows = np.concatenate([half.rows for half in chosen])
        on_left = np.concatenate([np.arange(len(half.rows)) < half.left for half in chosen])
        device, lengths = points.features.device, [len(half.rows) for half in chosen]
        features = points.features.index_select(0, torch.from_numpy(rows).to(device, non_blocking=True)).split(lengths)
        labels = torch.from_numpy(on_left).to(device, non_blocking=True).split(lengths)
        halves = iter(zip(features, labels, _means(nodes, parts, points, rows), strict=True))
        problems: list[NodeProblem | None] = []
        for node, part in zip(nodes, parts, strict=True):
            if part is None:
                problems.append(None)
                continue
            (inputs, known, mean), (targets, asked, target_mean) = next(halves), next(halves)
            gp = self.node_gp(node, points, inputs, known, counters, targets, **_about(mean))
            ratio = self._ratio(node, part[0].left, len(part[0].rows) - part[0].left)
            weights = self._weights(points, part[1])
            problems.append(NodeProblem(NodeGP(gp, ratio), targets, asked, weights, target_mean))
        return problems

    def conditioned(self, node: Sides, points: ClientPoints, counters: Counter[str]) -> NodeGP:
        """See ``Variant``."""
        rows = [points.rows(side) for side in (node.left, node.right)]
        left, right = (
            _with_stand_ins(points, side, own) for side, own in zip((node.left, node.right), rows, strict=True)
        )
        inputs = torch.cat([left, right])
        mean = None
        if points.logits is not None:
            mean = node_log_odds(points.logits.index_select(0, torch.cat(rows)), node)
        labels = side_labels(len(left), len(right), inputs)
        gp = self.node_gp(node, points, inputs, labels, counters, **_about(mean))
        own, n_left, n_right = OwnPoints.of(rows, len(left), len(inputs)), len(left), len(right)
        if self._balanced:
            without = self._ratio(node, n_left - 1, n_right), self._ratio(node, n_left, n_right - 1)
            own = replace(own, ratio_without_left=without[0], ratio_without_right=without[1])
        return NodeGP(gp, self._ratio(node, n_left, n_right), own)

    @property
    def _balanced(self) -> bool:
        return self.settings.class_weights == BALANCED

    def _ratio(self, node: Sides, left: int, right: int) -> tuple[float, float] | None:
        """The correction of a node with so many points on its sides."""
        return balanced_ratio(node, left, right) if self._balanced else None

    def _weights(self, points: ClientPoints, half: "_Half") -> Tensor | None:
        """Weights of held-out points in the loss."""
        if not self._balanced:
            return None
        weights = torch.from_numpy(balanced_weights(points.labels.numpy()[half.rows]))
        return weights.to(points.features.device, non_blocking=True)

    def node_gp(
        self,
        node: Sides,
        points: ClientPoints,
        inputs: Tensor,
        labels: Tensor,
        counters: Counter[str],
        targets: Tensor | None = None,
        mean: Tensor | None = None,
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
        mean : Tensor [n], optional
            Prior means at `inputs`.
        """
        return self.full_gp(inputs, labels, counters, **_about(mean))


def _with_stand_ins(points: ClientPoints, side: tuple[int, ...], rows: Tensor) -> Tensor:
    """Points of a side, those of the client first; a class without any is represented by its inducing inputs."""
    own = points.features.index_select(0, rows)
    missing = sorted(set(side) - points.present)
    if not missing or points.inducing is None:
        return own
    return torch.cat([own, points.inducing_of(missing).flatten(0, 1)])


def _about(mean: Tensor | None) -> dict[str, Tensor]:
    """The argument ``mean`` where there is one: variants of users that know of none go on to work."""
    return {} if mean is None else {"mean": mean}


def _means(
    nodes: Sequence[Sides], parts: "Sequence[tuple[_Half, _Half] | None]", points: ClientPoints, rows: np.ndarray
) -> list[Tensor | None]:
    """Prior means of every half of every node that has some, one after the other as in `rows`."""
    halves = [(node, half) for node, part in zip(nodes, parts, strict=True) if part is not None for half in part]
    if points.logits is None:
        return [None] * len(halves)
    chosen = points.logits.index_select(0, torch.from_numpy(rows).to(points.logits.device, non_blocking=True))
    logits = chosen.split([len(half.rows) for _, half in halves])
    return [node_log_odds(own, node) for own, (node, _) in zip(logits, halves, strict=True)]


class _Half(NamedTuple):
    """Rows of the client's points, of which the first `left` are on the left side."""

    rows: np.ndarray
    left: int


def _hold_out(node: Sides, points: ClientPoints, share: float, stream: Stream) -> tuple[_Half, _Half] | None:
    """Split the points of a node at random in (kept, held out); None where that leaves nothing to learn.

    floor(share * n) of a side are held out, so a single point is always kept.
    """
    kept, out = [], []
    for rows in [points.host_rows(side) for side in (node.left, node.right)]:
        order, count = rows[stream.numpy.permutation(len(rows))], int(share * len(rows))
        kept.append(order[count:])
        out.append(order[:count])
    if not min(map(len, kept)) or not sum(map(len, out)):
        return None
    return _Half(np.concatenate(kept), len(kept[0])), _Half(np.concatenate(out), len(out[0]))
