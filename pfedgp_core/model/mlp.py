"""A network of two hidden layers, for plain vectors."""

import math

import torch
from torch import Tensor, nn

__all__ = ["MLP"]


class MLP(nn.Module):
    """Two hidden layers of 128 ReLUs, for plain vectors (inputs of any other shape are flattened).

    Parameters
    ----------
    input_shape : tuple of int
        Of one input.
    feature_dim : int
        Width of the output.
    """

    def __init__(self, input_shape: tuple[int, ...], feature_dim: int = 84) -> None:
        super().__init__()
        self.linear1 = nn.Linear(math.prod(input_shape), 128)
        self.linear2 = nn.Linear(128, 128)
        self.linear3 = nn.Linear(128, feature_dim)

    def forward(self, inputs: Tensor) -> Tensor:
        """Shapes: [N, *input_shape] -> [N, feature_dim]."""
        hidden = torch.relu(self.linear1(inputs.flatten(1)))
        features: Tensor = self.linear3(torch.relu(self.linear2(hidden)))
        return features
