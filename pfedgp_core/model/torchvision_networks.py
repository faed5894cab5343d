"""ResNet-18 and MobileNetV2 as kernel networks: torchvision's architectures without batch normalisation.

Batch statistics belong to one client and would be averaged into nonsense. So each normalisation layer is replaced by
what is left of it without statistics and scale, one bias per channel. This takes away what keeps a deep network's
signal at one size, so the initialisation has to: convolutions preserve the second moment of their input, and each of
the L residual branches starts 1 / sqrt(L) as strong, which bounds the growth over all branches (as in Fixup, Zhang et
al. 2019). The last linear layer has width 512, as in the paper.
"""

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torchvision.models import MobileNetV2, ResNet
from torchvision.models.mobilenetv2 import InvertedResidual
from torchvision.models.resnet import BasicBlock

from pfedgp_core.errors import ConfigError
from pfedgp_core.words import shape_text

__all__ = ["FEATURE_DIM", "ChannelBias", "mobilenetv2", "resnet18"]

FEATURE_DIM = 512
"""Width of the features of both networks."""


class ChannelBias(nn.Module):
    """Adds one learned number per channel, initially 0. Shapes: [N, channels, height, width], unchanged."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(channels, 1, 1))

    def forward(self, inputs: Tensor) -> Tensor:
        """See the class."""
        return inputs + self.bias


def resnet18(input_shape: tuple[int, ...], _feature_dim: int = FEATURE_DIM) -> nn.Module:
    """ResNet-18 with biases in place of batch normalisation; inputs of any number of channels.

    The width of the features is `FEATURE_DIM`, whatever is asked for.

    Raises
    ------
    ConfigError
        The input is not an image.
    """
    channels = _channels("resnet18", input_shape)
    network = ResNet(BasicBlock, [2, 2, 2, 2], num_classes=FEATURE_DIM, norm_layer=ChannelBias)
    network.conv1 = nn.Conv2d(channels, 64, kernel_size=7, stride=2, padding=3, bias=False)
    blocks = [module for module in network.modules() if isinstance(module, BasicBlock)]
    shortcuts = [block.downsample[0] for block in blocks if block.downsample is not None]
    _initialise(network, linear=shortcuts, branch_ends=[block.conv2 for block in blocks])
    made: nn.Module = network
    return made


def mobilenetv2(input_shape: tuple[int, ...], _feature_dim: int = FEATURE_DIM) -> nn.Module:
    """MobileNetV2 with biases in place of batch normalisation, without dropout; inputs of any number of channels.

    The width of the features is `FEATURE_DIM`, whatever is asked for. It wants a smaller ``learning-rate`` than the
    other networks: 0.01 trains it, at 0.05 it stays where it began.

    Raises
    ------
    ConfigError
        The input is not an image.
    """
    channels = _channels("mobilenetv2", input_shape)
    network = MobileNetV2(num_classes=FEATURE_DIM, norm_layer=ChannelBias, dropout=0.0)
    network.features[0][0] = nn.Conv2d(channels, 32, kernel_size=3, stride=2, padding=1, bias=False)
    blocks = [module for module in network.modules() if isinstance(module, InvertedResidual)]
    _initialise(
        network,
        linear=[block.conv[-2] for block in blocks],  # the projection, after which no ReLU follows
        branch_ends=[block.conv[-2] for block in blocks if block.use_res_connect],
    )
    made: nn.Module = network
    return made


def _initialise(network: nn.Module, linear: Iterable[nn.Module], branch_ends: Iterable[nn.Module]) -> None:
    """Draw each convolution from N(0, gain^2 / fan_in): gain sqrt(2), or 1 where no ReLU precedes the next sum.

    torchvision's own draw uses fan_out, which for a depthwise convolution counts channels that never meet.
    """
    linear, branch_ends = set(linear), set(branch_ends)
    for module in network.modules():
        if isinstance(module, nn.Conv2d):
            gain = 1.0 if module in linear else math.sqrt(2.0)
            if module in branch_ends:
                gain /= math.sqrt(len(branch_ends))
            nn.init.normal_(module.weight, std=gain / math.sqrt(module.weight[0].numel()))
        elif isinstance(module, nn.Linear):
            module.reset_parameters()


def _channels(name: str, input_shape: tuple[int, ...]) -> int:
    if len(input_shape) != 3:
        raise ConfigError(
            f"network = {name!r} cannot take inputs of shape {shape_text(input_shape)}; give images of shape "
            "channels x height x width, or set network='mlp'."
        )
    return input_shape[0]
