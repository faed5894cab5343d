"""GPUs that the workers of a simulation share: which one a worker sees, and how much of its memory it may take."""

import os
from dataclasses import dataclass
from math import ceil

from pfedgp_core.errors import ConfigError

__all__ = ["GPUShare", "require_gpus"]

VISIBLE = "CUDA_VISIBLE_DEVICES"


@dataclass(frozen=True)
class GPUShare:
    """Of each worker of a simulation.

    Attributes
    ----------
    workers : int
    gpus : int
        Of this machine that they share; 0: they compute on the CPU.
    visible : tuple of str
        Names of the GPUs that this process may use, as in ``CUDA_VISIBLE_DEVICES``; empty: all, by their numbers.
    """

    workers: int
    gpus: int
    visible: tuple[str, ...] = ()

    @classmethod
    def here(cls, workers: int, gpus: int) -> "GPUShare":
        """Return the share where this process's environment says which GPUs there are."""
        named = os.environ.get(VISIBLE, "")
        return cls(workers, gpus, tuple(filter(None, (name.strip() for name in named.split(",")))))

    @property
    def fraction(self) -> float:
        """Part of a GPU that a worker may take."""
        return 1.0 if not self.gpus else 1.0 / ceil(self.workers / self.gpus)

    def device(self, index: int) -> str:
        """The GPU of the worker at a place in the pool, as in ``CUDA_VISIBLE_DEVICES``; empty: none."""
        if not self.gpus:
            return ""
        number = index % self.gpus
        return self.visible[number] if self.visible else str(number)

    def enter(self, index: int) -> None:
        """Let this process, which has not used CUDA yet, see the GPU of a worker alone."""
        os.environ[VISIBLE] = self.device(index)
        if self.gpus:
            import torch

            torch.cuda.set_per_process_memory_fraction(self.fraction)


def require_gpus(gpus: int) -> None:
    """Make sure that there are so many GPUs here; ConfigError where not."""
    if gpus < 0:
        raise ConfigError(f"gpus = {gpus} is too few: give at least 0.")
    if gpus == 0:
        return
    import torch

    found = torch.cuda.device_count()
    if gpus > found:
        raise ConfigError(f"gpus = {gpus}, and torch finds {found} here: give at most that many.")
