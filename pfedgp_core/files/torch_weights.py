"""Files of weights that the operator of this machine named: TorchScript, safetensors, and torch's own format."""

import io
import warnings
from typing import Any

import torch
from safetensors.torch import load
from torch import nn

__all__ = ["scripted_network", "state_of"]

TORCH_SUFFIXES = (".pth", ".pt")


def scripted_network(content: bytes) -> nn.Module:
    """The network of a TorchScript file, on the CPU; it is code. Raises what the decoder raises, of any kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # torch recommends torch.export to those who write files
        loaded: nn.Module = torch.jit.load(io.BytesIO(content), map_location="cpu")
    return loaded


def state_of(content: bytes, suffix: str) -> dict[str, Any]:
    """The tensors of a file by name, on the CPU, read without running code. Raises what the decoder raises.

    Parameters
    ----------
    content : bytes
    suffix : str
        Of the file's name: that of torch's own format, or any other for safetensors.
    """
    if suffix in TORCH_SUFFIXES:
        return dict(torch.load(io.BytesIO(content), map_location="cpu", weights_only=True))
    return dict(load(content))
