"""The variant ``ip-compute``: the client's own points seen through inducing inputs (paper, section 4.3)."""

from collections import Counter

from torch import Tensor

from pfedgp_core.gp.fitc import FITC
from pfedgp_core.tree.variants.base import ClientPoints, Sides
from pfedgp_core.tree.variants.full import Full
from pfedgp_core.tree.variants.inducing import InducingVariant

__all__ = ["IPCompute"]


class IPCompute(InducingVariant, Full):
    """As ``full``, with the FITC prior through the inducing inputs of the node's classes."""

    def node_gp(
        self,
        node: Sides,
        points: ClientPoints,
        inputs: Tensor,
        labels: Tensor,
        counters: Counter[str],
        targets: Tensor | None = None,
        mean: Tensor | None = None,
    ) -> FITC:
        """See ``Full``; there is no prior mean (`variant_rules`)."""
        gp, classes = self.settings.gp, [*node.left, *node.right]
        # A saved classifier holds weights of its inducing inputs in this order, unless it has fewer points than those.
        if self.shared is not None and (targets is not None or len(inputs) < len(classes) * self.shared.per_class):
            inducing, block = self.shared.of(node)
        else:
            inducing, block = points.inducing_of(classes).flatten(0, 1), None
        return FITC(self.kernel, inputs, labels, inducing, gp.jitter, counters, gp.solver, targets, block)
