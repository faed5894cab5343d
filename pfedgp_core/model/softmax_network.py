"""The kernel network with a softmax head in place of the Gaussian processes, as the classic methods train it."""

import numpy as np
import torch
from torch import Tensor, nn

from pfedgp_core.config import Settings
from pfedgp_core.data.pixels import Inputs
from pfedgp_core.model.network import build_network, feature_width
from pfedgp_core.model.shared_head import random_start
from pfedgp_core.numerics.streams import Stream

__all__ = ["SoftmaxNetwork", "layer_tensors", "predict_softmax"]

ROWS = 2048  # inputs at a time in prediction


class SoftmaxNetwork(nn.Module):
    """Logits W relu(phi(x)) + b of a kernel network phi.

    With the paper's LeNet this is the network of its baselines: 121,182 values for CIFAR-10.

    Parameters
    ----------
    features : nn.Module
        Maps inputs [N, ...] to features [N, d].
    width : int
        d.
    classes : int
        Width of the head.
    """

    def __init__(self, features: nn.Module, width: int, classes: int) -> None:
        super().__init__()
        self.features = features
        self.head = nn.Linear(width, classes)

    def forward(self, inputs: Tensor) -> Tensor:
        """Shapes: [N, ...] -> logits [N, classes]."""
        logits: Tensor = self.head(torch.relu(self.features(inputs)))
        return logits

    def hidden(self, inputs: Inputs) -> Tensor:
        """What enters the head, without gradients. Shapes: [N, ...] -> [N, d]."""
        self.eval()
        with torch.no_grad():
            return torch.cat([torch.relu(self.features(rows)) for rows in inputs.split(ROWS)])

    @classmethod
    def initial(cls, settings: Settings, input_shape: tuple[int, ...], classes: int) -> "SoftmaxNetwork":
        """The network before round 1, decided by ``settings.seed`` alone; its features are those of pFedGP's start."""
        features = build_network(
            settings.network,
            input_shape,
            settings.feature_dim,
            Stream(settings.seed, "initial-network").torch_generator,
        )
        made = cls(features, feature_width(features, input_shape), classes)
        random_start(made.head, settings.seed)
        return made


def layer_tensors(network: nn.Module) -> list[dict[str, Tensor]]:
    """Float parameters and buffers of each layer that has any, by name, in the order in which the layers were made."""
    layers = []
    for prefix, module in network.named_modules():
        own = [*module.named_parameters(prefix, recurse=False), *module.named_buffers(prefix, recurse=False)]
        if floats := {name: t for name, t in own if t.is_floating_point()}:
            layers.append(floats)
    return layers


def predict_softmax(network: nn.Module, inputs: Inputs) -> np.ndarray:
    """Softmax probabilities over all outputs, float64 [T, classes]; every row sums to 1."""
    network.eval()
    with torch.no_grad():
        parts = [torch.softmax(network(rows).double(), 1).cpu() for rows in inputs.split(ROWS)]
    probabilities: np.ndarray = torch.cat(parts).numpy()
    return probabilities
