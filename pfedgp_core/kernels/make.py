"""A kernel by its name."""

import math

from torch import Tensor

from pfedgp_core.errors import ConfigError
from pfedgp_core.kernels.base import Kernel
from pfedgp_core.registry import KERNELS, entry

__all__ = ["make_kernel"]


def make_kernel(name: str, output_scale: float | Tensor = 8.0, length_scale: float | Tensor = 1.0) -> Kernel:
    """Return the kernel of a name in the registry.

    Raises
    ------
    ConfigError
        The name is unknown, or a scale given as a number is not positive and finite.
    """
    kernel = entry(KERNELS, "gp.kernel", name)
    for key, value in (("output-scale", output_scale), ("length-scale", length_scale)):
        if not isinstance(value, Tensor) and not 0 < value < math.inf:
            raise ConfigError(f"gp.{key} = {value!r} is not a positive number; give for example 1.0.")
    made: Kernel = kernel.load()(output_scale, length_scale)
    return made
