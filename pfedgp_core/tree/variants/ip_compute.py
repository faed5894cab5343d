"""The variant ``ip-compute``: the client's own points seen through inducing inputs (paper, section 4.3)."""

from collections import Counter

from torch import Tensor

from pfedgp_core.gp.fitc import FITC
from pfedgp_core.tree.variants.base import ClientPoints, Sides
from pfedgp_core.tree.variants.full import Full

__all__ = ["IPCompute"]


class IPCompute(Full):
    """As ``full``, with the FITC prior through the inducing inputs of the node's classes."""

    def node_gp(
        self,
        node: Sides,
        points: ClientPoints,
        inputs: Tensor,
        labels: Tensor,
        counters: Counter[str],
        targets: Tensor | None = None,
    ) -> FITC:
        """See ``Full``."""
        assert points.inducing is not None
        inducing, gp = points.inducing[[*node.left, *node.right]].flatten(0, 1), self.settings.gp
        return FITC(self.kernel, inputs, labels, inducing, gp.jitter, counters, gp.solver, targets)
