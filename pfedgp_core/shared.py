"""What the server and the clients share: the kernel network, as one flat float32 vector on the wire."""

import numpy as np
import torch
from torch import Tensor, nn

from pfedgp_core.config import Settings
from pfedgp_core.errors import DataError
from pfedgp_core.network import build_network
from pfedgp_core.streams import Stream

__all__ = ["SharedState"]


class SharedState(nn.Module):
    """The federation's shared parameters.

    Float parameters and float buffers travel; integer buffers (counters) stay where they are, because an average of
    counters means nothing.

    Attributes
    ----------
    network : nn.Module
        Maps inputs [N, ...] to features [N, d].
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    @classmethod
    def initial(cls, settings: Settings, input_shape: tuple[int, ...], class_count: int) -> "SharedState":
        """The model before round 1, decided by ``settings.seed`` alone."""
        generator = Stream(settings.seed, "initial-network").torch_generator
        return cls(build_network(settings.network, input_shape, settings.feature_dim, generator))

    def _tensors(self) -> list[Tensor]:
        return [t for t in (*self.parameters(), *self.buffers()) if t.is_floating_point()]

    @property
    def size(self) -> int:
        """Length of the flat vector."""
        return sum(t.numel() for t in self._tensors())

    def to_vector(self) -> np.ndarray:
        """A copy of all shared values, float32 [size]."""
        flat = torch.cat([t.detach().reshape(-1).to("cpu", torch.float32) for t in self._tensors()])
        return flat.numpy()

    def load_vector(self, vector: np.ndarray) -> None:
        """Take over all shared values.

        Raises
        ------
        DataError
            The vector has another length or holds non-finite values.
        """
        if vector.shape != (self.size,):
            raise DataError(
                f"The shared vector has {vector.size} values where this network has {self.size}: "
                "server and client must use the same network, feature-dim and input shape."
            )
        if not np.isfinite(vector).all():
            raise DataError("The shared vector holds non-finite values and is refused: restart from an earlier model.")
        source, start = torch.from_numpy(np.array(vector, dtype=np.float32)), 0
        with torch.no_grad():
            for t in self._tensors():
                t.copy_(source[start : start + t.numel()].view_as(t))
                start += t.numel()
