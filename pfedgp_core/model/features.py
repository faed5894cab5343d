"""Features of a client's whole data, and the gradient of a loss on them pushed back through the kernel network.

A GP needs all rows at once, a network does not: the network runs in batches, the GP sees one matrix [N, d], and one
backward pass brings the gradient home. Small data keep the graph of the forward pass; large data recompute it batch by
batch in the backward pass, so that memory does not grow with N.
"""

import torch
from torch import Tensor, nn

from pfedgp_core.data.pixels import Inputs
from pfedgp_core.errors import NonFiniteError
from pfedgp_core.numerics.deferred import holds

__all__ = ["FeaturePass", "compute_features"]

BATCH = 128  # rows a forward call; the fastest on a CPU core, whose cache larger ones leave
ACTIVATIONS = 16  # bytes that a forward pass of a small convolutional network keeps for each byte of its input
KEEP_GRAPH_BYTES = 2**29  # estimated activations up to which the graph is kept


class FeaturePass:
    """One forward pass whose features [N, d] are a leaf for the GP's loss.

    Parameters
    ----------
    network : nn.Module
    inputs : Tensor or Pixels [N, ...]

    Attributes
    ----------
    features : Tensor [N, d]
        Requires grad; a loss on it accumulates into ``features.grad``.
    """

    def __init__(self, network: nn.Module, inputs: Inputs) -> None:
        self.network, self.inputs = network, inputs
        keep = ACTIVATIONS * inputs.numel() * inputs.element_size() <= KEEP_GRAPH_BYTES
        if keep:
            self._output: Tensor | None = torch.cat([network(batch) for batch in inputs.split(BATCH)])
            features = self._output.detach()
        else:
            self._output = None
            features = compute_features(network, inputs)
        _require_finite(features)
        self.features = features.requires_grad_()

    def backward(self) -> None:
        """Accumulate the network's parameter gradients from ``features.grad``."""
        gradient = self.features.grad
        if gradient is None:
            return
        if self._output is not None:
            self._output.backward(gradient)
            return
        for batch, part in zip(self.inputs.split(BATCH), gradient.split(BATCH), strict=True):
            self.network(batch).backward(part)


def compute_features(network: nn.Module, inputs: Inputs) -> Tensor:
    """Features [N, d] without gradients.

    Raises
    ------
    NonFiniteError
        The network's output holds NaN or infinity.
    """
    with torch.no_grad():
        features = torch.cat([network(batch) for batch in inputs.split(BATCH)])
    _require_finite(features)
    return features


def _require_finite(features: Tensor) -> None:
    if not holds(torch.isfinite(features).all()):
        raise NonFiniteError(
            "The kernel network returned non-finite features: check the inputs, or lower the learning rate."
        )
