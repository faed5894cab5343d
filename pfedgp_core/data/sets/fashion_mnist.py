"""Fashion-MNIST: 50,000 / 10,000 / 10,000 grey images of 28x28 pixels, clothes and shoes in 10 classes."""

from pfedgp_core.data.samples import Dataset
from pfedgp_core.data.sets.idx_images import load_idx_images

__all__ = ["CHECKSUMS", "fashion_mnist"]

CHECKSUMS = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
CLASSES = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)


def fashion_mnist(root: str = "", seed: int = 0) -> Dataset:
    """Load Fashion-MNIST from the folder that holds ``FashionMNIST/raw``, or its four files; see `load_idx_images`."""
    return load_idx_images("fashion-mnist", "FashionMNIST", CLASSES, root, CHECKSUMS)
