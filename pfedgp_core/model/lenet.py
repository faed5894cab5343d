"""LeNet, the kernel network of the paper."""

import torch
from torch import Tensor, nn

from pfedgp_core.errors import ConfigError
from pfedgp_core.words import shape_text

__all__ = ["LeNet"]


class LeNet(nn.Module):
    """The network of the paper: two convolutions (16 and 32 channels) and two linear layers (120 and feature_dim).

    Images of at least 16 x 16 pixels meet 5 x 5 convolutions without padding, smaller ones 3 x 3 with padding 1. Each
    convolution is followed by a ReLU and a 2 x 2 maximum.

    Parameters
    ----------
    input_shape : (channels, height, width)
        Of one image; at least 4 x 4 pixels.
    feature_dim : int
        Width of the output.

    Raises
    ------
    ConfigError
        The shape is not that of an image, or the image is too small.
    """

    def __init__(self, input_shape: tuple[int, ...], feature_dim: int = 84) -> None:
        super().__init__()
        if len(input_shape) != 3 or min(input_shape[1:]) < 4:
            raise ConfigError(
                f"network = 'lenet' cannot take inputs of shape {shape_text(input_shape)}; give images of shape "
                "channels x height x width from 4 x 4 pixels, or set network='mlp'."
            )
        channels, *sides = input_shape
        kernel, padding = (5, 0) if min(sides) >= 16 else (3, 1)
        for _ in range(2):
            sides = [(side + 2 * padding - kernel + 1) // 2 for side in sides]
        self.conv1 = nn.Conv2d(channels, 16, kernel, padding=padding)
        self.conv2 = nn.Conv2d(16, 32, kernel, padding=padding)
        self.linear1 = nn.Linear(32 * sides[0] * sides[1], 120)
        self.linear2 = nn.Linear(120, feature_dim)

    def forward(self, inputs: Tensor) -> Tensor:
        """Shapes: [N, channels, height, width] -> [N, feature_dim]."""
        # On a CPU, pooling is several times faster with the channels last in memory; the numbers are the same.
        layout = torch.channels_last if inputs.device.type == "cpu" else torch.contiguous_format
        hidden = self.conv1(inputs.contiguous(memory_format=layout)).contiguous(memory_format=layout)
        # The ReLU after the maximum gives the same numbers as before it, on a quarter of the values.
        hidden = torch.relu(nn.functional.max_pool2d(hidden, 2))
        hidden = torch.relu(nn.functional.max_pool2d(self.conv2(hidden), 2))
        features: Tensor = self.linear2(torch.relu(self.linear1(hidden.flatten(1))))
        return features
