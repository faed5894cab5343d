"""Which points a node's GP is conditioned on, which it predicts, and through which prior: the variants of pFedGP.

This is the only place where the variants differ; tree, Gibbs sampling, objectives and classifier are the same for all.

============  ==============================  =================================  =====================================
variant       conditioned on in training      predicted in training              conditioned on at prediction
============  ==============================  =================================  =====================================
full          a random half of each side      the other half                     the client's data
ip-data       inducing inputs                 the client's data                  the client's data and inducing inputs
ip-compute    a random half, through FITC     the other half                     the client's data, through FITC
============  ==============================  =================================  =====================================

Paper: sections 4.1 to 4.3. Inducing inputs live in feature space and belong to a class; a node uses those of the
classes below it. Where a client's tree holds a class without data (``classes = "all"``), the class's inducing inputs
stand in for data, also under ip-compute.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pfedgp_core.config import GPSettings, Settings
from pfedgp_core.gp.class_ratio import log_class_ratio
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.splits import Node

__all__ = ["ClientPoints", "NodeGP", "NodeProblem", "Variant", "make_variant"]


@dataclass(frozen=True)
class ClientPoints:
    """All points of one client's tree, on the unit sphere.

    Attributes
    ----------
    features : Tensor [N, d]
    labels : Tensor [N]
        Positions in the tree's classes.
    inducing : Tensor [k, M, d] or None
        Inducing inputs of the tree's classes.
    """

    features: Tensor
    labels: Tensor
    inducing: Tensor | None = None


@dataclass(frozen=True)
class NodeGP:
    """A node's GP, and the correction from the class ratio that it saw to the client's own.

    Attributes
    ----------
    gp : FullGP or FITC
    log_ratio : (log q/p of left, log q/p of right) or None
    """

    gp: FullGP | FITC
    log_ratio: tuple[float, float] | None = None


@dataclass(frozen=True)
class NodeProblem:
    """A node under the predictive objective.

    Attributes
    ----------
    known : NodeGP
    targets : Tensor [T, d]
        Points whose side is predicted.
    target_left : Tensor [T] of bool
    """

    known: NodeGP
    targets: Tensor
    target_left: Tensor


class Variant(Protocol):
    """How a tree node becomes a binary GP problem."""

    def training_problem(
        self, node: Node, points: ClientPoints, stream: Stream, counters: Counter[str]
    ) -> NodeProblem | None:
        """The node's problem under the predictive objective; None where there is nothing to learn from it."""

    def conditioned(self, node: Node, points: ClientPoints, counters: Counter[str]) -> NodeGP:
        """The node's GP conditioned on everything known: for prediction, and for the marginal objective."""


def make_variant(settings: Settings, kernel: Kernel) -> Variant:
    """The variant named by ``settings.variant``."""
    if settings.variant == "ip-data":
        return IPData(kernel, settings.gp, settings.personal_data)
    return OwnData(kernel, settings.gp, through_inducing=settings.variant == "ip-compute")


class OwnData:
    """Conditioned on the client's own points: ``full``, or ``ip-compute`` with the FITC prior."""

    def __init__(self, kernel: Kernel, gp: GPSettings, through_inducing: bool) -> None:
        self.kernel, self.settings, self.through_inducing = kernel, gp, through_inducing

    def training_problem(
        self, node: Node, points: ClientPoints, stream: Stream, counters: Counter[str]
    ) -> NodeProblem | None:
        """See ``Variant``."""
        left, right = (rows_of(points.labels, side) for side in (node.left, node.right))
        keep_left, out_left = _hold_out(left, self.settings.holdout, stream)
        keep_right, out_right = _hold_out(right, self.settings.holdout, stream)
        if not len(keep_left) or not len(keep_right) or not len(out_left) + len(out_right):
            return None
        inputs = points.features[torch.cat([keep_left, keep_right])]
        targets = points.features[torch.cat([out_left, out_right])]
        gp = self._gp(node, points, inputs, _sides(len(keep_left), len(keep_right), inputs), counters, targets)
        return NodeProblem(NodeGP(gp), targets, _sides(len(out_left), len(out_right), targets))

    def conditioned(self, node: Node, points: ClientPoints, counters: Counter[str]) -> NodeGP:
        """See ``Variant``."""
        left, right = (self._with_stand_ins(points, side) for side in (node.left, node.right))
        inputs = torch.cat([left, right])
        return NodeGP(self._gp(node, points, inputs, _sides(len(left), len(right), inputs), counters))

    def _with_stand_ins(self, points: ClientPoints, side: tuple[int, ...]) -> Tensor:
        """Points of a side; a class without any is represented by its inducing inputs."""
        rows = rows_of(points.labels, side)
        missing = sorted(set(side) - set(points.labels[rows].unique().tolist()))
        if not missing or points.inducing is None:
            return points.features[rows]
        return torch.cat([points.features[rows], points.inducing[missing].flatten(0, 1)])

    def _gp(
        self,
        node: Node,
        points: ClientPoints,
        inputs: Tensor,
        labels: Tensor,
        counters: Counter[str],
        targets: Tensor | None = None,
    ) -> FullGP | FITC:
        if not self.through_inducing:
            return FullGP(self.kernel, inputs, labels, self.settings.jitter, counters, self.settings.solver)
        assert points.inducing is not None
        inducing = points.inducing[[*node.left, *node.right]].flatten(0, 1)
        jitter, solver = self.settings.jitter, self.settings.solver
        return FITC(self.kernel, inputs, labels, inducing, jitter, counters, solver, targets)


class IPData:
    """Inducing inputs are labelled training data (paper, section 4.2), with the class-ratio correction of eq. (10)."""

    def __init__(self, kernel: Kernel, gp: GPSettings, personal_data: bool) -> None:
        self.kernel, self.settings, self.personal_data = kernel, gp, personal_data

    def training_problem(
        self, node: Node, points: ClientPoints, stream: Stream, counters: Counter[str]
    ) -> NodeProblem | None:
        """See ``Variant``."""
        left, right = (rows_of(points.labels, side) for side in (node.left, node.right))
        if not len(left) + len(right):
            return None
        known = self._node_gp(node, points, None, counters)
        targets = points.features[torch.cat([left, right])]
        return NodeProblem(known, targets, _sides(len(left), len(right), targets))

    def conditioned(self, node: Node, points: ClientPoints, counters: Counter[str]) -> NodeGP:
        """See ``Variant``."""
        return self._node_gp(node, points, points.features if self.personal_data else None, counters)

    def _node_gp(self, node: Node, points: ClientPoints, data: Tensor | None, counters: Counter[str]) -> NodeGP:
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
        gp = FullGP(
            self.kernel, inputs, _sides(seen[0], seen[1], inputs), self.settings.jitter, counters, self.settings.solver
        )
        return NodeGP(gp, log_class_ratio(counts[0], counts[1], seen[0], seen[1]))


def rows_of(labels: Tensor, classes: tuple[int, ...]) -> Tensor:
    """Rows whose label is one of `classes`, ascending."""
    return torch.isin(labels, torch.tensor(classes, device=labels.device)).nonzero()[:, 0]


def _sides(left: int, right: int, like: Tensor) -> Tensor:
    """Boolean side labels: True (left) for the first `left` rows, False for the `right` rows after them."""
    return torch.arange(left + right, device=like.device) < left


def _hold_out(rows: Tensor, share: float, stream: Stream) -> tuple[Tensor, Tensor]:
    """Split rows at random in (kept, held out); floor(share * n) are held out, so a single row is always kept."""
    order = rows[stream.permutation(len(rows))]
    count = int(share * len(rows))
    return order[count:], order[:count]
