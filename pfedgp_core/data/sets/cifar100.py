"""CIFAR-100: 40,000 / 10,000 / 10,000 colour images of 32x32 pixels in 100 classes."""

from pfedgp_core.data.samples import Dataset
from pfedgp_core.data.sets.cifar import load_cifar

__all__ = ["cifar100"]

MEAN, STD = (0.5071, 0.4865, 0.4409), (0.2673, 0.2564, 0.2762)  # per colour of the training images, on the scale 0..1


def cifar100(root: str = "", seed: int = 0) -> Dataset:
    """Load CIFAR-100 from the folder that holds ``cifar-100-python``, or from a packed file; see `load_cifar`."""
    return load_cifar("cifar100", "CIFAR100", 100, root, MEAN, STD)
