"""MedMNIST: medical images of one size in one .npz file, with their own training, validation and test part."""

from pathlib import Path

import numpy as np

from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.samples import Dataset, Split
from pfedgp_core.data.sets.root import data_folder
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.arrays import read_npz
from pfedgp_core.files.checksum import md5_of
from pfedgp_core.words import few

__all__ = ["CHECKSUMS", "medmnist"]

_PARTS = {"train": "train", "validation": "val", "test": "test"}
_MOST_CLASSES = 1000
_FROM = "https://zenodo.org/records/10519652/files"
# MD5 of the published two-dimensional sets of 28x28 pixels with one label per image.
CHECKSUMS = {
    "pathmnist.npz": "a8b06965200029087d5bd730944a56c1",
    "dermamnist.npz": "0744692d530f8e62ec473284d019b0c7",
    "octmnist.npz": "c68d92d5b585d8d81f7112f81e2d0842",
    "pneumoniamnist.npz": "28209eda62fecd6e6a2d98b1501bb15f",
    "retinamnist.npz": "bd4c0672f1bba3e3a89f0e4e876791e4",
    "breastmnist.npz": "750601b1f35ba3300ea97c75c52ff8f6",
    "bloodmnist.npz": "7053d0359d879ad8a5505303e11de1dc",
    "tissuemnist.npz": "ebe78ee8b05294063de985d821c1c34b",
    "organamnist.npz": "68e3f8846a6bd62f0c9bf841c0d9eacc",
    "organcmnist.npz": "b9ceb9546e10131b32923c5bbeaea2b1",
    "organsmnist.npz": "9ab87b696fb54e2a387ebe992d6ed5f1",
}


def medmnist(root: str = "", seed: int = 0) -> Dataset:
    """Load one of the sets with its own parts; `seed` is unused. The class names are the numbers of the labels.

    Parameters
    ----------
    root : str
        The file, or a folder that holds one of a published name, or one ``.npz`` file alone.

    Raises
    ------
    DataError
        The file is missing or damaged, has another checksum than the published one of its name, holds volumes,
        several labels per image, or arrays that do not fit each other.
    """
    path = _file(data_folder(root))
    arrays = _arrays(path)
    splits = {}
    for part, prefix in _PARTS.items():
        images, labels = _images(path, f"{prefix}_images", arrays), _labels(path, f"{prefix}_labels", arrays)
        if len(images) != len(labels):
            raise _unusable(path, f"{len(images)} images and {len(labels)} labels in the part {prefix}")
        splits[part] = Split(images, labels)
    shapes = {split.inputs.shape[1:] for split in splits.values()}
    if len(shapes) > 1:
        raise _unusable(path, f"images of the shapes {sorted(shapes)}")
    if not len(splits["train"]):
        raise _unusable(path, "no training images")
    classes = 1 + max(int(split.labels.max(initial=0)) for split in splits.values())
    mean, std = input_statistics(splits["train"].inputs)
    train, validation, test = splits.values()
    return Dataset("medmnist", tuple(map(str, range(classes))), train, validation, test, mean, std, shapes.pop())


def _file(path: Path) -> Path:
    if not path.is_dir():
        if path.exists():
            return path
        kind = "file" if path.suffix == ".npz" else "folder"
        raise DataError(f"There is no {kind} {path}: set data-root to a file of MedMNIST, or {_fetch(path)}.")
    files = sorted(path.glob("*.npz"))
    # The folder may hold other data sets, too.
    found = [each for each in files if each.name in CHECKSUMS] or files
    if len(found) == 1:
        return found[0]
    if found:
        names = few([each.name for each in found])
        raise DataError(f"{path} holds {len(found)} sets ({names}): set data-root to the one to take, with its name.")
    raise DataError(f"There is no .npz file in {path}: set data-root to a file of MedMNIST, or {_fetch(path)}.")


def _fetch(path: Path) -> str:
    """The command for the set that the path names, or for one of them."""
    name = path.name if path.name in CHECKSUMS else "pneumoniamnist.npz"
    return f"fetch it with curl -L --create-dirs -o {path if path.suffix == '.npz' else path / name} {_FROM}/{name}"


def _arrays(path: Path) -> dict[str, np.ndarray]:
    wanted = [f"{prefix}_{kind}" for prefix in _PARTS.values() for kind in ("images", "labels")]
    try:
        if path.name in CHECKSUMS and (digest := md5_of(path)) != CHECKSUMS[path.name]:
            raise DataError(
                f"{path} cannot be used (its checksum is {digest}, that of the published {path.name} is "
                f"{CHECKSUMS[path.name]}): delete it and {_fetch(path)}; give a file of your own another name."
            )
        arrays = read_npz(path, wanted).values
    except UnreadableFileError as error:
        raise DataError(f"{path} cannot be used ({error.reason}): delete it and {_fetch(path)}.") from None
    if missing := [name for name in wanted if name not in arrays]:
        raise _unusable(path, f"no array {missing[0]}")
    return arrays


def _images(path: Path, name: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """The images as uint8 [N, C, H, W]; they leave `arrays`, so that no second copy stays."""
    images = arrays.pop(name)
    if images.dtype != np.uint8 or images.ndim not in (3, 4):
        raise _unusable(path, f"{name} of {images.dtype} {list(images.shape)}")
    if images.ndim == 3:
        return images[:, None]
    if images.shape[3] not in (1, 3):
        raise DataError(
            f"{path} holds volumes ({name} is {list(images.shape)}): take a set of two-dimensional images, such as "
            "pathmnist.npz."
        )
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))


def _labels(path: Path, name: str, arrays: dict[str, np.ndarray]) -> np.ndarray:
    labels = arrays.pop(name)
    if labels.ndim == 2 and labels.shape[1] > 1:
        raise DataError(
            f"{path} has {labels.shape[1]} labels per image, and a sample has one class: take another set, such as "
            "pathmnist.npz."
        )
    labels = labels.reshape(len(labels)) if labels.ndim == 2 else labels
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or (labels.size and not 0 <= labels.min() <= labels.max()):
        raise _unusable(path, f"{name} of {labels.dtype} {list(labels.shape)}, which are no class ids")
    if labels.size and labels.max() >= _MOST_CLASSES:
        raise _unusable(path, f"the class id {labels.max()}")
    return labels.astype(np.int64)


def _unusable(path: Path, what: str) -> DataError:
    return DataError(
        f"{path} is no file of MedMNIST: it has {what}, where train_images, val_images and test_images of uint8 "
        f"[N, H, W] or [N, H, W, 3] and as many labels are needed; {_fetch(path)}."
    )
