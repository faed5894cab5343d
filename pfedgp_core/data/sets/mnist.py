"""MNIST: 50,000 / 10,000 / 10,000 grey images of 28x28 pixels, handwritten digits."""

from pfedgp_core.data.samples import Dataset
from pfedgp_core.data.sets.idx_images import load_idx_images

__all__ = ["CHECKSUMS", "mnist"]

CHECKSUMS = {
    "train-images-idx3-ubyte.gz": "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "train-labels-idx1-ubyte.gz": "d53e105ee54ea40749a09fcbcd1e9432",
    "t10k-images-idx3-ubyte.gz": "9fb629c4189551a2d022fa330f9573f3",
    "t10k-labels-idx1-ubyte.gz": "ec29112dd5afa0611ce80d1b7f02629c",
}


def mnist(root: str = "", seed: int = 0) -> Dataset:
    """Load MNIST from the folder that holds ``MNIST/raw``, or its four files; see `load_idx_images`."""
    return load_idx_images("mnist", "MNIST", tuple("0123456789"), root, CHECKSUMS)
