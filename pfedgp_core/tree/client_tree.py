"""From a client's features and labels to its class tree and the points that the tree's nodes work with."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from pfedgp_core.config import Settings
from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.tree.splits import Tree, build_tree, class_means
from pfedgp_core.tree.variants.base import ClientPoints
from pfedgp_core.tree.variants.prior_mean import LogitsOf

__all__ = ["ClientTree", "tree_classes"]


def tree_classes(labels: Tensor, inducing: Tensor | None, settings: Settings) -> list[int]:
    """Class ids of a client's tree, ascending: its own, or with ``classes = "all"`` every class of the federation."""
    if settings.classes == "all" and inducing is not None:
        return list(range(len(inducing)))
    own: list[int] = labels.unique().tolist()
    return own


@dataclass(frozen=True)
class ClientTree:
    """A client's class tree over positions 0..k-1 in `classes`.

    Attributes
    ----------
    classes : list of int
        Class ids, ascending.
    labels : Tensor [N]
        Positions in `classes` of the client's labels, on the CPU.
    tree : Tree
    """

    classes: list[int]
    labels: Tensor
    tree: Tree

    @classmethod
    def build(
        cls, features: Tensor, labels: Tensor, classes: Sequence[int], inducing: Tensor | None, stream: Stream
    ) -> "ClientTree":
        """Cluster the prototypes of `classes`, which hold every label.

        Prototypes are means of the raw features. Where some class has no sample, all prototypes are means on the unit
        sphere, on which features and inducing inputs are comparable, and that class has the mean
        of its inducing inputs.

        Parameters
        ----------
        features : Tensor [N, d]
        labels : Tensor [N]
            Class ids.
        classes : sequence of int
        inducing : Tensor [K, M, d] or None
            Inducing inputs of every class of the federation.
        stream : Stream
        """
        ids = sorted(classes)
        position = torch.full((ids[-1] + 1,), -1, dtype=torch.int64)
        position[torch.tensor(ids)] = torch.arange(len(ids))
        positions = position[labels.cpu()]
        seen = positions.unique().tolist()
        with torch.no_grad():
            if len(ids) == 2:
                prototypes = np.zeros((2, 1))  # there is one way to split two classes, wherever they are
            elif len(seen) == len(ids):
                prototypes = class_means(features, positions, seen)
            else:
                assert inducing is not None
                prototypes = unit_sphere(inducing[ids]).mean(1).double().cpu().numpy()
                prototypes[seen] = class_means(unit_sphere(features), positions, seen)
        return cls(ids, positions, build_tree(prototypes, range(len(ids)), stream.child("tree").numpy))

    def points(self, features: Tensor, inducing: Tensor | None, logits_of: LogitsOf | None = None) -> ClientPoints:
        """The client's points on the unit sphere, differentiable in the features and inducing inputs."""
        if inducing is None:
            logits = None if logits_of is None else self.own_logits(logits_of(features))
            return ClientPoints(unit_sphere(features), self.labels, logits=logits)
        classes = torch.tensor(self.classes).to(inducing.device, non_blocking=True)
        return ClientPoints(unit_sphere(features), self.labels, unit_sphere(inducing.index_select(0, classes)))

    def own_logits(self, logits: Tensor) -> Tensor:
        """The logits [T, k] of the tree's classes among those [T, K] of all classes of the federation."""
        return logits.index_select(1, torch.tensor(self.classes).to(logits.device, non_blocking=True))
