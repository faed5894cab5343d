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
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.gp.fitc import FITC
from pfedgp_core.gp.full import FullGP
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.numerics.streams import Stream

__all__ = [
    "ClientPoints",
    "NodeGP",
    "NodeProblem",
    "OwnPoints",
    "Sides",
    "SidesOfTree",
    "Variant",
    "rows_of",
    "side_labels",
]


class Sides(Protocol):
    """The classes on the two sides of a node, as positions in the tree's classes."""

    @property
    def left(self) -> tuple[int, ...]:
        """Classes on the left, y = 1."""

    @property
    def right(self) -> tuple[int, ...]:
        """Classes on the right, y = 0."""


class SidesOfTree(Protocol):
    """The nodes of a tree in pre-order, and the classes that it tells apart."""

    @property
    def classes(self) -> tuple[int, ...]:
        """Positions 0..k-1."""

    @property
    def nodes(self) -> Sequence[Sides]:
        """A parent before its children."""


@dataclass(frozen=True)
class ClientPoints:
    """All points of one client's tree, on the unit sphere.

    Attributes
    ----------
    features : Tensor [N, d]
    labels : Tensor [N]
        Positions in the tree's classes, on the CPU: which points go where is decided on the host.
    inducing : Tensor [k, M, d] or None
        Inducing inputs of the tree's classes.
    logits : Tensor [N, k] or None
        What a shared head says of them; see `tree.variants.prior_mean`.
    """

    features: Tensor
    labels: Tensor
    inducing: Tensor | None = None
    logits: Tensor | None = None

    @cached_property
    def _class_rows(self) -> dict[int, np.ndarray]:
        labels = self.labels.numpy()
        order = labels.argsort(kind="stable")
        present, first = np.unique(labels[order], return_index=True)
        return dict(zip(present.tolist(), np.split(order, first[1:]), strict=True)) if len(order) else {}

    @property
    def present(self) -> frozenset[int]:
        """Classes that have points."""
        return frozenset(self._class_rows)

    def host_rows(self, classes: tuple[int, ...]) -> np.ndarray:
        """Rows of the points of some classes, ascending."""
        parts = [self._class_rows[c] for c in classes if c in self._class_rows]
        return np.sort(np.concatenate(parts)) if parts else np.zeros(0, np.int64)

    def rows(self, classes: tuple[int, ...]) -> Tensor:
        """The same on the device of the features."""
        return torch.from_numpy(self.host_rows(classes)).to(self.features.device, non_blocking=True)

    def inducing_of(self, classes: Sequence[int]) -> Tensor:
        """Inducing inputs of some classes, in that order, [len(classes), M, d]."""
        assert self.inducing is not None
        return self.inducing.index_select(0, torch.tensor(classes).to(self.inducing.device, non_blocking=True))


@dataclass(frozen=True)
class OwnPoints:
    """The client's points among those of a node's GP, each of which can be left out.

    Attributes
    ----------
    rows : Tensor [m]
        Their places among the client's points.
    places : Tensor [m]
        Their places among the points that the variant gives the GP.
    among : int
        Number of these points; a GP that holds another number keeps only some, and nobody knows which.
    ratio_without_left, ratio_without_right : pair of float or None
        The node's `log_ratio` without one of them that is on the left, or on the right.
    """

    rows: Tensor
    places: Tensor
    among: int
    ratio_without_left: tuple[float, float] | None = None
    ratio_without_right: tuple[float, float] | None = None

    @classmethod
    def of(cls, rows: Sequence[Tensor], first_right: int, among: int) -> "OwnPoints":
        """Rows on the left and on the right, first on their sides each; the right one begins at `first_right`."""
        left, right = (torch.arange(len(side), device=side.device) for side in rows)
        return cls(torch.cat(list(rows)), torch.cat([left, first_right + right]), among)


@dataclass(frozen=True)
class NodeGP:
    """A node's GP, and the correction from the class ratio that it saw to the client's own.

    Attributes
    ----------
    gp : FullGP or FITC
    log_ratio : (log q/p of left, log q/p of right) or None
    own : OwnPoints or None
        The client's points among those that the GP is conditioned on; None in training, where the objective knows them.
    """

    gp: FullGP | FITC
    log_ratio: tuple[float, float] | None = None
    own: OwnPoints | None = None


@dataclass(frozen=True)
class NodeProblem:
    """A node under the predictive objective.

    Attributes
    ----------
    known : NodeGP
    targets : Tensor [T, d]
        Points whose side is predicted.
    target_left : Tensor [T] of bool
    weights : Tensor [T], optional
        Of the targets in the loss, mean 1; without them all weigh the same.
    target_mean : Tensor [T] or None
        Prior means of their latents; None where they are zero.
    """

    known: NodeGP
    targets: Tensor
    target_left: Tensor
    weights: Tensor | None = None
    target_mean: Tensor | None = None


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

    def for_tree(self, tree: SidesOfTree, points: ClientPoints, counters: Counter[str]) -> Self:
        """The variant with what the nodes of one tree share; by default they share nothing."""
        return self

    @abstractmethod
    def training_problem(
        self, node: Sides, points: ClientPoints, stream: Stream, counters: Counter[str]
    ) -> NodeProblem | None:
        """The node's problem under the predictive objective; None where there is nothing to learn from it."""

    def training_problems(
        self, nodes: Sequence[Sides], points: ClientPoints, streams: Sequence[Stream], counters: Counter[str]
    ) -> list[NodeProblem | None]:
        """The problems of several nodes, a stream for each."""
        return [
            self.training_problem(node, points, stream, counters) for node, stream in zip(nodes, streams, strict=True)
        ]

    @abstractmethod
    def conditioned(self, node: Sides, points: ClientPoints, counters: Counter[str]) -> NodeGP:
        """The node's GP conditioned on everything known: for prediction, and for the marginal objective."""

    def full_gp(self, inputs: Tensor, labels: Tensor, counters: Counter[str], mean: Tensor | None = None) -> FullGP:
        """The full GP on `inputs` [n, d], of which `labels` [n] of bool are on the left, with prior means [n]."""
        gp = self.settings.gp
        return FullGP(self.kernel, inputs, labels, gp.jitter, counters, gp.solver, mean=mean)


def rows_of(labels: Tensor, classes: tuple[int, ...]) -> Tensor:
    """Rows whose label is one of `classes`, ascending."""
    return torch.isin(labels, torch.tensor(classes, device=labels.device)).nonzero()[:, 0]


def side_labels(left: int, right: int, like: Tensor) -> Tensor:
    """Boolean side labels: True (left) for the first `left` rows, False for the `right` rows after them."""
    return torch.arange(left + right, device=like.device) < left
