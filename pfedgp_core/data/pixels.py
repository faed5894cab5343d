"""Images that stay bytes in memory: they become normalised numbers a batch at a time, on their way into a network."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

__all__ = ["SMALL", "Inputs", "Pixels"]

SMALL = 2**26  # bytes of normalised images that are kept as such, so that they are normalised once


@dataclass(frozen=True, eq=False)
class Pixels:
    """Stands for the float32 tensor [N, C, H, W] of normalised images, at a quarter of its memory.

    What a network needs is here: batches, rows, shape and device. Whatever else is asked of a tensor is asked of the
    whole one, which is made for that (`normalised`).

    Attributes
    ----------
    values : Tensor, uint8 [N, C, H, W]
    centre, scale : Tensor, float32 [1, C, 1, 1]
        Mean and deviation of images scaled to [0, 1].
    """

    values: Tensor
    centre: Tensor
    scale: Tensor

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Tensor:
        one = isinstance(rows, int)
        images = self.of(self.values[rows][None] if one else self.values[rows])
        return images[0] if one else images

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name in Pixels.__annotations__:  # asked by copies that are not whole yet
            raise AttributeError(name)
        return getattr(self.normalised(), name)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Let functions of torch see the whole tensor."""
        made = [one.normalised() if isinstance(one, Pixels) else one for one in args]
        return function(*made, **{k: v.normalised() if isinstance(v, Pixels) else v for k, v in (kwargs or {}).items()})

    @property
    def shape(self) -> torch.Size:
        """Of the tensor."""
        return self.values.shape

    @property
    def ndim(self) -> int:
        """Of the tensor."""
        return self.values.ndim

    @property
    def device(self) -> torch.device:
        """Of the tensor."""
        return self.values.device

    @property
    def dtype(self) -> torch.dtype:
        """Of the tensor."""
        return self.centre.dtype

    def numel(self) -> int:
        """Numbers of the tensor."""
        return self.values.numel()

    def element_size(self) -> int:
        """Bytes of a number of the tensor."""
        return self.centre.element_size()

    def to(self, device: torch.device) -> "Pixels":
        """The same on a device."""
        return Pixels(self.values.to(device), self.centre.to(device), self.scale.to(device))

    def __iter__(self) -> Iterator[Tensor]:
        return (self[row] for row in range(len(self)))

    def split(self, size: int) -> Iterator[Tensor]:
        """Normalised batches of so many images; the last one may be smaller."""
        return map(self.of, self.values.split(size))

    def normalised(self) -> Tensor:
        """The whole tensor."""
        return self.of(self.values)

    def of(self, images: Tensor) -> Tensor:
        """Normalised images of bytes, [n, C, H, W] -> float32 [n, C, H, W]."""
        made = images.to(torch.float32)
        made /= 255.0
        made -= self.centre
        made /= self.scale
        return made


Inputs = Tensor | Pixels
