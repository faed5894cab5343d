"""The device on which a process computes, and a clear error when the memory of the device is full."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

from pfedgp_core.errors import ConfigError, DeviceMemoryError

__all__ = ["choose_device", "explain_memory"]


def choose_device(name: str = "auto") -> torch.device:
    """The device of a name.

    Parameters
    ----------
    name : str
        ``cpu``, ``cuda``, a GPU by its number such as ``cuda:1``, or ``auto``: a GPU where there is one.

    Raises
    ------
    ConfigError
        There is no such device here.
    """
    name = name.strip().lower() or "auto"
    count = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if name == "auto":
        name = "cuda" if count else "cpu"
    if name == "cpu":
        return torch.device("cpu")
    kind, _, number = name.partition(":")
    if kind != "cuda" or (":" in name and not (number.isascii() and number.isdecimal())):
        raise ConfigError(
            f"device = {name!r} is not known: give auto, cpu, cuda or a GPU by its number, such as cuda:1."
        )
    if not count:
        raise ConfigError(
            f"device = {name!r}, but this machine has no GPU that PyTorch {torch.__version__} can use: check the "
            "driver with nvidia-smi and that PyTorch is a CUDA build, or give cpu."
        )
    index = int(number or 0)
    if index >= count:
        raise ConfigError(
            f"device = {name!r}, but this machine has the GPUs cuda:0 to cuda:{count - 1}: give one of them, or cpu."
        )
    return torch.device("cuda", index)


@contextmanager
def explain_memory(device: torch.device) -> Iterator[None]:
    """Turn a device that ran out of memory into a DeviceMemoryError, and give the memory back that is not in use."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        if device.type == "cuda":
            torch.cuda.empty_cache()
        raise DeviceMemoryError(
            f"The device {device} ran out of memory: end other programs on it, set variant = ip-compute for a GP of "
            "less memory, or give device = cpu."
        ) from error
