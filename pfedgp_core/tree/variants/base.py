"""The decisions of a variant: the points that a node's GP knows, the points that it predicts, and the prior.

A variant is one file beside this one and one line of `pfedgp_core.registry.VARIANTS`; tree, Gibbs sampling, objectives
and classifier are the same for all.

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

from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.numerics.streams import Stream

__all__ = ["ClientPoints", "NodeGP", "NodeProblem", "Sides", "Variant", "rows_of", "side_labels"]


class Sides(Protocol):
    """The classes on the two sides of a node, as positions in the tree's classes."""

    @property
    def left(self) -> tuple[int, ...]:
        """Classes on the left, y = 1."""

    @property
    def right(self) -> tuple[int, ...]:
        """Classes on the right, y = 0."""


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


class Variant(ABC):
    """How a tree node becomes a binary GP problem.

    Parameters
    ----------
    kernel : Kernel
    settings : Settings
        ``gp``, ``personal_data``.
    """

    def __init__(self, kernel: Kernel, settings: Settings) -> None:
        self.kernel, self.settings = kernel, settings

    @abstractmethod
    def training_problem(
        self, node: Sides, points: ClientPoints, stream: Stream, counters: Counter[str]
    ) -> NodeProblem | None:
        """The node's problem under the predictive objective; None where there is nothing to learn from it."""

    @abstractmethod
    def conditioned(self, node: Sides, points: ClientPoints, counters: Counter[str]) -> NodeGP:
        """The node's GP conditioned on everything known: for prediction, and for the marginal objective."""

    def full_gp(self, inputs: Tensor, labels: Tensor, counters: Counter[str]) -> FullGP:
        """The full GP on `inputs` [n, d], of which `labels` [n] of bool are on the left."""
        gp = self.settings.gp
        return FullGP(self.kernel, inputs, labels, gp.jitter, counters, gp.solver)


def rows_of(labels: Tensor, classes: tuple[int, ...]) -> Tensor:
    """Rows whose label is one of `classes`, ascending."""
    return torch.isin(labels, torch.tensor(classes, device=labels.device)).nonzero()[:, 0]


def side_labels(left: int, right: int, like: Tensor) -> Tensor:
    """Boolean side labels: True (left) for the first `left` rows, False for the `right` rows after them."""
    return torch.arange(left + right, device=like.device) < left
