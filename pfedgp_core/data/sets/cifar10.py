"""CIFAR-10: 40,000 / 10,000 / 10,000 colour images of 32x32 pixels in 10 classes."""

from pfedgp_core.data.samples import Dataset
from pfedgp_core.data.sets.cifar import load_cifar

__all__ = ["cifar10"]

MEAN, STD = (0.4914, 0.4822, 0.4465), (0.2470, 0.2435, 0.2616)  # per colour of the training images, on the scale 0..1


def cifar10(root: str = "", seed: int = 0) -> Dataset:
    """Load CIFAR-10 from the folder that holds ``cifar-10-batches-py``, or from a packed file; see `load_cifar`."""
    return load_cifar("cifar10", "CIFAR10", 10, root, MEAN, STD)
