"""The variant ``ip-data``: inducing inputs are labelled training data (paper, section 4.2)."""

from collections import Counter
from dataclasses import replace

import torch
from torch import Tensor

from pfedgp_core.gp.class_ratio import log_class_ratio
from pfedgp_core.gp.full import FullGP
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.variants.base import ClientPoints, NodeGP, NodeProblem, OwnPoints, Sides, side_labels
from pfedgp_core.tree.variants.inducing import InducingVariant

__all__ = ["IPData"]


class IPData(InducingVariant):
    """Conditioned on inducing inputs, at prediction on the client's data too, with the class ratio of eq. (10)."""

    def training_problem(
        self, node: Sides, points: ClientPoints, stream: Stream, counters: Counter[str]
    ) -> NodeProblem | None:
        """See ``Variant``."""
        left, right = (points.rows(side) for side in (node.left, node.right))
        if not len(left) + len(right):
            return None
        gp, on_left = self._inducing_gp(node, points, stream, counters)
        ratio = self._ratio((len(left), len(right)), (on_left, len(gp.inputs) - on_left))
        targets = points.features.index_select(0, torch.cat([left, right]))
        return NodeProblem(NodeGP(gp, ratio), targets, side_labels(len(left), len(right), targets))

    def conditioned(self, node: Sides, points: ClientPoints, counters: Counter[str]) -> NodeGP:
        """See ``Variant``."""
        parts: list[Tensor] = []
        every: list[Tensor] = []
        # A saved classifier holds draws of omega in this order of the points.
        for side in (node.left, node.right):
            rows, inducing = points.rows(side), points.inducing_of(side).flatten(0, 1)
            parts.append(torch.cat([points.features[rows], inducing]) if self.settings.personal_data else inducing)
            every.append(rows)
        left, right = map(len, parts)
        inputs = torch.cat(parts)
        gp = self.full_gp(inputs, side_labels(left, right, inputs), counters)
        on_left, on_right = map(len, every)
        ratio = self._ratio((on_left, on_right), (left, right))
        if not self.settings.personal_data:
            return NodeGP(gp, ratio)
        own = replace(
            OwnPoints.of(every, left, len(inputs)),
            ratio_without_left=self._ratio((on_left - 1, on_right), (left - 1, right)) if on_left else None,
            ratio_without_right=self._ratio((on_left, on_right - 1), (left, right - 1)) if on_right else None,
        )
        return NodeGP(gp, ratio, own)

    def _ratio(self, own: tuple[int, int], seen: tuple[int, int]) -> tuple[float, float] | None:
        """The class-ratio correction of a node with so many points on its sides; None without class balancing."""
        return log_class_ratio(*own, *seen) if self.settings.class_balancing else None

    def _inducing_gp(
        self, node: Sides, points: ClientPoints, stream: Stream, counters: Counter[str]
    ) -> tuple[FullGP, int]:
        """The GP on a node's inducing inputs, as many of each class as of any other, and the number on its left."""
        assert points.inducing is not None
        gp, most, M = self.settings.gp, self.settings.inducing_per_node, points.inducing.shape[1]
        classes = [*node.left, *node.right]
        per_class = min(M, max(1, most // len(classes))) if most else M
        on_left = len(node.left) * per_class
        if self.shared is not None and per_class == M:
            inputs, block = self.shared.of(node)
            return FullGP(
                self.kernel, inputs, self.shared.on_left(node), gp.jitter, counters, gp.solver, block
            ), on_left
        inducing = points.inducing_of(classes)
        if per_class < M:
            drawn = stream.normal(len(classes), M).argsort(1)[:, :per_class]
            inducing = inducing.gather(1, drawn[..., None].expand(-1, -1, inducing.shape[2]))
        labels = side_labels(on_left, (len(classes) * per_class) - on_left, inducing)
        return self.full_gp(inducing.flatten(0, 1), labels, counters), on_left
