"""The size of a network before it is built: torch's meta device has shapes and no memory."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor, nn

from pfedgp_core.errors import ConfigError
from pfedgp_core.model.network import auto_network
from pfedgp_core.registry import NETWORKS

__all__ = ["NetworkSize", "network_size"]

CACHE = "TORCHINDUCTOR_CACHE_DIR"  # of torch's compiler


class NetworkSize(NamedTuple):
    """How large a network is.

    Attributes
    ----------
    values : int
        Parameters and buffers.
    activations : int
        Values that its layers give for one input.
    width : int
        Of its features.
    """

    values: int
    activations: int
    width: int


@lru_cache(maxsize=16)
def network_size(name: str, input_shape: tuple[int, ...], feature_dim: int) -> NetworkSize | None:
    """The size of a network of the registry; None of others, which may do anything when they are called.

    None too where it cannot be built for such inputs, which `build_network` explains. Nothing is allocated, and torch's
    random numbers stay as they were.
    """
    try:
        name = auto_network(name, input_shape)
        if name not in NETWORKS:
            return None
        build: Callable[[tuple[int, ...], int], nn.Module] = NETWORKS[name].load()
        with _no_cache_folder(), torch.random.fork_rng(devices=[]), torch.device("meta"), torch.no_grad():
            network = build(input_shape, feature_dim)
            activations = 0

            def count(_module: nn.Module, _inputs: object, output: object) -> None:
                nonlocal activations
                activations += output.numel() if isinstance(output, Tensor) else 0

            for module in network.modules():
                if not list(module.children()):
                    module.register_forward_hook(count)
            features = network(torch.zeros(1, *input_shape))
    except (ConfigError, RuntimeError, ValueError, ImportError):
        return None
    values = sum(tensor.numel() for tensor in (*network.parameters(), *network.buffers()))
    return NetworkSize(values, activations, int(features.shape[1]))


@contextmanager
def _no_cache_folder() -> Iterator[None]:
    """Keep torch from a folder beside other temporary files: its compiler makes one when it is first loaded.

    Operations without memory load the compiler, and nothing is compiled.
    """
    if CACHE in os.environ:
        yield
        return
    os.environ[CACHE] = tempfile.gettempdir()
    try:
        yield
    finally:
        del os.environ[CACHE]
