"""A metric of the features: kernels see them multiplied by a matrix, and a shared head reads them as they are."""

import torch
from torch import Tensor, nn

from pfedgp_core.kernels.base import unit_sphere
from pfedgp_core.model.shared_head import SharedHead

__all__ = ["HeadBehind", "Metric"]


class HeadBehind(nn.Module):
    """A head of features phi, as one of phi R for an invertible matrix R.

    Parameters
    ----------
    head : SharedHead
    root : Tensor [d, d]
        R.
    """

    def __init__(self, head: SharedHead, root: Tensor) -> None:
        super().__init__()
        self.head = head
        self.register_buffer("back", torch.linalg.inv(root.double()).to(root))

    back: Tensor

    def forward(self, features: Tensor) -> Tensor:
        """Shapes: [N, d] -> [N, K]."""
        logits: Tensor = self.head(features @ self.back)
        return logits


class Metric:
    """Maps features to those on which distances are measured.

    A kernel puts these on the unit sphere, so their length is nothing to it. Where a head needs the features again they
    keep it; otherwise they are on the sphere before the matrix, too.

    Parameters
    ----------
    root : Tensor [d, d]
        Invertible.
    head : SharedHead, optional
        Of features as they are.

    Attributes
    ----------
    root : Tensor [d, d]
    head : HeadBehind or None
        The same head, of mapped features.
    """

    def __init__(self, root: Tensor, head: SharedHead | None = None) -> None:
        self.root, self.head = root, None if head is None else HeadBehind(head, root)

    @property
    def keeps_length(self) -> bool:
        """Whether the length of features is that of the network's."""
        return self.head is not None

    def __call__(self, features: Tensor) -> Tensor:
        """Shapes: [N, d] -> [N, d]."""
        return (features if self.keeps_length else unit_sphere(features)) @ self.root
