"""The shared kernel network: from an input to the features that enter the kernel.

All clients learn one network; everything personal happens in the Gaussian processes on top of it. A network is found
by its name in the registry, by import path ``package.module:function``, or is a frozen backbone, ``frozen:NAME``.
"""

import importlib
import threading
from collections.abc import Callable

import torch
from torch import Tensor, nn

from pfedgp_core.backbones import is_frozen
from pfedgp_core.errors import ConfigError
from pfedgp_core.model.frozen import FrozenNetwork, frozen_network
from pfedgp_core.registry import NETWORKS
from pfedgp_core.words import shape_text

__all__ = ["Builder", "auto_network", "build_network", "feature_width"]

Builder = Callable[[tuple[int, ...], int], nn.Module]
"""Maps (input_shape, feature_dim) to a module that maps [N, *input_shape] to features [N, d]."""


_build_lock = threading.Lock()


def build_network(
    name: str, input_shape: tuple[int, ...], feature_dim: int = 84, generator: torch.Generator | None = None
) -> nn.Module:
    """Build a network with random parameters, on the CPU.

    Parameters
    ----------
    name : str
        A name in `pfedgp_core.registry.NETWORKS`; ``auto``, which is lenet for images and mlp for vectors; or an
        import path ``package.module:function`` of a function (input_shape, feature_dim) -> nn.Module; or
        ``frozen:NAME`` (`pfedgp_core.model.frozen`).
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
            f"Inputs of shape {shape_text(input_shape)} and feature-dim = {feature_dim} are not positive; check the "
            "data."
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
                f"network = {name!r} cannot be built for inputs of shape {shape_text(input_shape)} ({_brief(error)}); "
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
    if isinstance(network, FrozenNetwork) and network.backbone is None:
        return network.width  # a server has the projection alone
    parameter = next(network.parameters(), torch.empty(0))
    training = network.training
    network.eval()
    try:
        with torch.no_grad():
            features = network(torch.zeros(2, *input_shape, device=parameter.device))
    except ConfigError:
        raise
    except Exception as error:
        raise ConfigError(
            f"The network cannot take inputs of shape {shape_text(input_shape)} ({_brief(error)}); choose another "
            "network."
        ) from error
    finally:
        network.train(training)
    if not isinstance(features, Tensor) or features.ndim != 2 or len(features) != 2 or features.shape[1] < 1:
        returned = tuple(features.shape) if isinstance(features, Tensor) else type(features).__name__
        raise ConfigError(f"The network returned {returned} for 2 inputs; let it return features of shape (2, d).")
    return features.shape[1]


def auto_network(name: str, input_shape: tuple[int, ...]) -> str:
    """The name of the network that ``auto`` stands for, which is lenet for images and mlp for vectors; others stay.

    Raises
    ------
    ConfigError
        The inputs are neither.
    """
    if name != "auto":
        return name
    if len(input_shape) not in (1, 3):
        raise ConfigError(
            f"network = 'auto' takes images and vectors, but inputs have shape {shape_text(input_shape)}; "
            "set network='mlp'."
        )
    return "lenet" if len(input_shape) == 3 else "mlp"


def _find(name: str, input_shape: tuple[int, ...]) -> Builder:
    name = auto_network(name, input_shape)
    if name in NETWORKS:
        # Loaded where a failure is explained: torchvision may be missing.
        return lambda shape, width: NETWORKS[name].load()(shape, width)  # noqa: PLW0108
    if is_frozen(name):
        return lambda shape, width: frozen_network(name, shape, width)
    module, separator, function = name.partition(":")
    if not (separator and module and function):
        raise ConfigError(
            f"network = {name!r} is not known; choose one of: auto, {', '.join(NETWORKS)}, frozen:NAME, or "
            "package.module:function."
        )
    try:
        builder: Builder = getattr(importlib.import_module(module), function)
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
