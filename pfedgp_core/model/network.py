"""The shared kernel network: from an input to the features that enter the kernel.

All clients learn one network; everything personal happens in the Gaussian processes on top of it. A network is found
by name in ``NETWORKS``, or by import path ``package.module:function``.
"""

import importlib
import math
import threading
from collections.abc import Callable

import torch
from torch import Tensor, nn

from pfedgp_core.errors import ConfigError

__all__ = ["MLP", "NETWORKS", "Builder", "LeNet", "build_network", "feature_width", "register_network"]

Builder = Callable[[tuple[int, ...], int], nn.Module]
"""Maps (input_shape, feature_dim) to a module that maps [N, *input_shape] to features [N, d]."""


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
                f"network = 'lenet' cannot take inputs of shape {_text(input_shape)}; give images of shape "
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
        return self.linear2(torch.relu(self.linear1(hidden.flatten(1))))


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
        return self.linear3(torch.relu(self.linear2(hidden)))


def _resnet18(input_shape: tuple[int, ...], feature_dim: int) -> nn.Module:
    from pfedgp_core.model.torchvision_networks import resnet18

    return resnet18(input_shape)


def _mobilenetv2(input_shape: tuple[int, ...], feature_dim: int) -> nn.Module:
    from pfedgp_core.model.torchvision_networks import mobilenetv2

    return mobilenetv2(input_shape)


NETWORKS: dict[str, Builder] = {
    "lenet": LeNet,
    "mlp": MLP,
    "resnet18": _resnet18,
    "mobilenetv2": _mobilenetv2,
}

_build_lock = threading.Lock()


def register_network(name: str, builder: Builder) -> None:
    """Make ``builder`` available as ``network = name``, in this process.

    Raises
    ------
    ConfigError
        The name is empty, is ``auto``, contains a colon, or is taken by another builder.
    """
    if not name or name == "auto" or ":" in name:
        raise ConfigError(f"{name!r} cannot name a network; give a word other than 'auto', without a colon.")
    if NETWORKS.get(name, builder) is not builder:
        raise ConfigError(f"A network named {name!r} exists already; choose another name.")
    NETWORKS[name] = builder


def build_network(
    name: str, input_shape: tuple[int, ...], feature_dim: int = 84, generator: torch.Generator | None = None
) -> nn.Module:
    """Build a network with random parameters, on the CPU.

    Parameters
    ----------
    name : str
        A key of ``NETWORKS``; ``auto``, which is lenet for images and mlp for vectors; or an import path
        ``package.module:function`` of a function (input_shape, feature_dim) -> nn.Module.
    input_shape : tuple of int
        Of one input: (channels, height, width) or (D,).
    feature_dim : int
        Width of the features. resnet18 and mobilenetv2 do not obey it: theirs is 512, as in the paper.
    generator : torch.Generator, optional
        Decides the initial parameters (torch's default initialisation of each layer) and advances. The default is a
        new generator with seed 0. torch's global generator is left as it was.

    Returns
    -------
    nn.Module
        Maps float32 [N, *input_shape] to features [N, d].

    Raises
    ------
    ConfigError
        The name is unknown, its import or its call fails, or the result does not map inputs to features.
    """
    input_shape = tuple(int(side) for side in input_shape)
    if not input_shape or min(input_shape) < 1 or feature_dim < 1:
        raise ConfigError(
            f"Inputs of shape {_text(input_shape)} and feature-dim = {feature_dim} are not positive; check the data."
        )
    builder = _find(name, input_shape)
    generator = generator if generator is not None else torch.Generator().manual_seed(0)
    seed = int(torch.randint(2**63 - 1, (), generator=generator, device=generator.device))
    # Layers initialise themselves from the global generator, so it is borrowed: by one thread at a time, and put back.
    with _build_lock, torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        try:
            network = builder(input_shape, feature_dim)
        except ConfigError:
            raise
        except Exception as error:
            raise ConfigError(
                f"network = {name!r} cannot be built for inputs of shape {_text(input_shape)} ({_brief(error)}); "
                "choose another network, or install what it needs."
            ) from error
    if not isinstance(network, nn.Module):
        raise ConfigError(f"network = {name!r} returned a {type(network).__name__}; return a torch.nn.Module.")
    feature_width(network, input_shape)
    return network


def feature_width(network: nn.Module, input_shape: tuple[int, ...]) -> int:
    """Return the width d of a network's features, from a trial with two zero inputs.

    Raises
    ------
    ConfigError
        The network cannot take such inputs, or does not return [N, d].
    """
    parameter = next(network.parameters(), torch.empty(0))
    training = network.training
    network.eval()
    try:
        with torch.no_grad():
            features = network(torch.zeros(2, *input_shape, device=parameter.device))
    except Exception as error:
        raise ConfigError(
            f"The network cannot take inputs of shape {_text(input_shape)} ({_brief(error)}); choose another network."
        ) from error
    finally:
        network.train(training)
    if not isinstance(features, Tensor) or features.ndim != 2 or len(features) != 2 or features.shape[1] < 1:
        returned = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise ConfigError(f"The network returned {returned} for 2 inputs; let it return features of shape (2, d).")
    return features.shape[1]


def _find(name: str, input_shape: tuple[int, ...]) -> Builder:
    if name == "auto":
        if len(input_shape) not in (1, 3):
            raise ConfigError(
                f"network = 'auto' takes images and vectors, but inputs have shape {_text(input_shape)}; "
                "set network='mlp'."
            )
        name = "lenet" if len(input_shape) == 3 else "mlp"
    if name in NETWORKS:
        return NETWORKS[name]
    module, separator, function = name.partition(":")
    if not (separator and module and function):
        raise ConfigError(
            f"network = {name!r} is not known; choose one of: auto, {', '.join(NETWORKS)}, or package.module:function."
        )
    try:
        builder = getattr(importlib.import_module(module), function)
    except Exception as error:
        raise ConfigError(
            f"network = {name!r} cannot be imported ({_brief(error)}); install the package or correct the path."
        ) from error
    if not callable(builder):
        raise ConfigError(f"network = {name!r} is not a function; name one (input_shape, feature_dim) -> nn.Module.")
    return builder


def _brief(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0].rstrip('.')}" if lines else type(error).__name__


def _text(shape: tuple[int, ...]) -> str:
    return " x ".join(str(side) for side in shape) or "()"
