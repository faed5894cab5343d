"""The variant ``ip-data``: inducing inputs are labelled training data (paper, section 4.2)."""

from collections import Counter

import torch
from torch import Tensor

from pfedgp_core.gp.class_ratio import log_class_ratio
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.variants.base import ClientPoints, NodeGP, NodeProblem, Sides, Variant, rows_of, side_labels

__all__ = ["IPData"]


class IPData(Variant):
    """Conditioned on inducing inputs, at prediction on the client's data too, with the class ratio of eq. (10)."""

    def training_problem(
        self, node: Sides, points: ClientPoints, stream: Stream, counters: Counter[str]
    ) -> NodeProblem | None:
        """See ``Variant``."""
        left, right = (rows_of(points.labels, side) for side in (node.left, node.right))
        if not len(left) + len(right):
            return None
        known = self._node_gp(node, points, None, counters)
        targets = points.features[torch.cat([left, right])]
        return NodeProblem(known, targets, side_labels(len(left), len(right), targets))

    def conditioned(self, node: Sides, points: ClientPoints, counters: Counter[str]) -> NodeGP:
        """See ``Variant``."""
        return self._node_gp(node, points, points.features if self.settings.personal_data else None, counters)

    def _node_gp(self, node: Sides, points: ClientPoints, data: Tensor | None, counters: Counter[str]) -> NodeGP:
        """Conditioned on the inducing inputs, stacked under `data` [N, d] if given."""
        assert points.inducing is not None
        parts: list[Tensor] = []
        counts, seen = [], []
        for side in (node.left, node.right):
            rows = rows_of(points.labels, side)
            inducing = points.inducing[list(side)].flatten(0, 1)
            part = inducing if data is None else torch.cat([data[rows], inducing])
            parts.append(part)
            counts.append(len(rows))
            seen.append(len(part))
        inputs = torch.cat(parts)
        gp = self.full_gp(inputs, side_labels(seen[0], seen[1], inputs), counters)
        return NodeGP(gp, log_class_ratio(counts[0], counts[1], seen[0], seen[1]))
