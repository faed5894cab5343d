"""Which points a node's GP is conditioned on and which it predicts, in training and in deployment.

This is the only place where the variants differ; tree, Gibbs sampling, objectives and classifier are the same for all.

* ``full`` (paper, section 4.1): the GP of a node is conditioned on the client's own points. Under the predictive
  objective a random half of each side is held out and predicted.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.full_gp import FullGP
from pfedgp_core.kernels import Kernel
from pfedgp_core.streams import Stream
from pfedgp_core.tree import Node

__all__ = ["FullVariant", "NodeProblem", "Variant", "make_variant"]


@dataclass(frozen=True)
class NodeProblem:
    """One node's GP and the points to predict in training.

    Attributes
    ----------
    gp : FullGP
    targets : Tensor [T, d]
        Points whose side is predicted (features on the unit sphere).
    target_left : Tensor [T] of bool
    """

    gp: FullGP
    targets: Tensor
    target_left: Tensor


class Variant(Protocol):
    """How a tree node becomes a binary GP problem."""

    def training_problem(
        self, node: Node, features: Tensor, labels: Tensor, stream: Stream, counters: Counter[str]
    ) -> NodeProblem | None:
        """The node's problem under the predictive objective; None where nothing can be learned from it."""

    def prediction_gp(self, node: Node, features: Tensor, labels: Tensor, counters: Counter[str]) -> FullGP:
        """The node's GP conditioned on everything that is known at prediction time."""


def make_variant(settings: Settings, kernel: Kernel) -> Variant:
    """The variant named by ``settings.variant``."""
    return FullVariant(kernel, settings.gp)


class FullVariant:
    """The full GP on the client's own points."""

    def __init__(self, kernel: Kernel, gp: GPSettings) -> None:
        self.kernel, self.settings = kernel, gp

    def training_problem(
        self, node: Node, features: Tensor, labels: Tensor, stream: Stream, counters: Counter[str]
    ) -> NodeProblem | None:
        left, right = rows_of(labels, node.left), rows_of(labels, node.right)
        keep_left, out_left = _hold_out(left, self.settings.holdout, stream)
        keep_right, out_right = _hold_out(right, self.settings.holdout, stream)
        if not len(keep_left) or not len(keep_right) or not len(out_left) + len(out_right):
            return None
        inputs = features[torch.cat([keep_left, keep_right])]
        gp = self._gp(inputs, sides(keep_left, keep_right), counters)
        return NodeProblem(gp, features[torch.cat([out_left, out_right])], sides(out_left, out_right))

    def prediction_gp(self, node: Node, features: Tensor, labels: Tensor, counters: Counter[str]) -> FullGP:
        left, right = rows_of(labels, node.left), rows_of(labels, node.right)
        return self._gp(features[torch.cat([left, right])], sides(left, right), counters)

    def _gp(self, inputs: Tensor, labels: Tensor, counters: Counter[str]) -> FullGP:
        return FullGP(self.kernel, inputs, labels, self.settings.jitter, counters, self.settings.solver)


def rows_of(labels: Tensor, classes: tuple[int, ...]) -> Tensor:
    """Rows whose label is one of `classes`, ascending."""
    return torch.isin(labels, torch.tensor(classes, device=labels.device)).nonzero()[:, 0]


def sides(left: Tensor, right: Tensor) -> Tensor:
    """Boolean side labels (True = left) of the rows `left` followed by the rows `right`."""
    return torch.cat([torch.ones_like(left, dtype=torch.bool), torch.zeros_like(right, dtype=torch.bool)])


def _hold_out(rows: Tensor, share: float, stream: Stream) -> tuple[Tensor, Tensor]:
    """Split rows at random in (kept, held out); floor(share * n) are held out, so a single row is always kept."""
    order = rows[stream.permutation(len(rows))]
    count = int(share * len(rows))
    return order[count:], order[:count]
