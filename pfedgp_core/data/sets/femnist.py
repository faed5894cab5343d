"""FEMNIST in LEAF's files: grey images of 28x28 pixels in 62 classes, letters and digits; each writer is a site."""

import hashlib
import string
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.data.array_cache import cached_arrays
from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.partitions.sites import Sites, split_inside
from pfedgp_core.data.samples import SPLIT_SEED, Dataset, Split
from pfedgp_core.data.sets.root import data_folder
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.json_members import members
from pfedgp_core.files.regular import MalformedError, decoding
from pfedgp_core.numerics.streams import Stream
from pfedgp_core.words import cut

__all__ = ["femnist"]

CLASSES = tuple(string.digits + string.ascii_uppercase + string.ascii_lowercase)
_PIXELS = 28 * 28
_DECODER = "v1"  # part of the cache key; change it with the decoding
_ARRAYS = ("images", "labels", "writers", "names")
_FETCH = (
    "make them with git clone https://github.com/TalwalkarLab/leaf && cd leaf/data/femnist && "
    "./preprocess.sh -s niid --sf 1.0 -k 0 -t sample"
)


def femnist(root: str = "", seed: int = 0) -> Dataset:
    """Load FEMNIST with LEAF's own test samples; `seed` is unused.

    LEAF has no validation part: a fifth of each writer's training samples is held back.

    Parameters
    ----------
    root : str
        Folder that holds ``data/train/*.json`` and ``data/test/*.json``, or ``train`` and ``test``.

    Raises
    ------
    DataError
        There are no files, or one is damaged or holds something else.
    """
    folder = data_folder(root) if root else data_folder("") / "femnist"
    parts = {part: _part(_files(folder, part)) for part in ("train", "test")}
    names = sorted({name for part in parts.values() for name in part["names"].tolist()})
    place = {name: i for i, name in enumerate(names)}
    writers = {
        part: np.array([place[name] for name in each["names"].tolist()], np.int64)[each["writers"]]
        for part, each in parts.items()
    }
    train, labels = parts["train"], parts["train"]["labels"]
    # The test part of the split inside goes to training: LEAF has its own.
    split = split_inside(writers["train"], labels, Stream(SPLIT_SEED, "split", "femnist"))
    rows = {"train": np.sort(np.concatenate([split["train"], split["test"]])), "validation": split["validation"]}
    splits = {name: Split(train["images"][each], labels[each]) for name, each in rows.items()}
    splits["test"] = Split(parts["test"]["images"], np.array(parts["test"]["labels"]))
    if not len(splits["train"]):
        raise DataError(f"The files in {folder} hold no training samples; {_FETCH}.")
    of = {name: writers["train"][each] for name, each in rows.items()} | {"test": writers["test"]}
    mean, std = input_statistics(splits["train"].inputs)
    sites = Sites(tuple(names), of)
    own = (splits["train"], splits["validation"], splits["test"])
    return Dataset("femnist", CLASSES, *own, mean, std, (1, 28, 28), sites)


def _files(folder: Path, part: str) -> list[Path]:
    for place in (folder / "data" / part, folder / part):
        if found := sorted(place.glob("*.json")) if place.is_dir() else []:
            return found
    raise DataError(
        f"FEMNIST is not in {folder}, which lacks data/{part}/*.json: set data-root to LEAF's folder data/femnist, or "
        f"{_FETCH}."
    )


def _part(files: list[Path]) -> dict[str, np.ndarray]:
    """The samples of some files, decoded once for all processes of this machine."""
    digest = hashlib.sha256()
    for path in files:
        status = path.stat()
        digest.update(f"{path.name}/{status.st_size}/{status.st_mtime_ns}\n".encode())
    return cached_arrays(f"femnist-{_DECODER}-{digest.hexdigest()[:32]}", _ARRAYS, partial(_decoded, files))


def _decoded(files: list[Path]) -> dict[str, np.ndarray]:
    """``images`` uint8 [N, 1, 28, 28], ``labels`` and ``writers`` int64 [N], ``names`` of the writers."""
    images: list[np.ndarray] = []
    labels: list[np.ndarray] = []
    names: list[str] = []
    for path in files:
        try:
            with decoding(path):
                for name, x, y in _writers(path):
                    if name in names:
                        raise MalformedError(f"the writer {cut(name, 40)!r} comes twice")
                    names.append(name)
                    images.append(x)
                    labels.append(y)
        except UnreadableFileError as error:
            raise DataError(f"{path} is no file of LEAF's FEMNIST ({error.reason}); {_FETCH}.") from None
    return {
        "images": np.concatenate([np.empty((0, 1, 28, 28), np.uint8), *images]),
        "labels": np.concatenate([np.empty(0, np.int64), *labels]),
        "writers": np.repeat(np.arange(len(names)), [len(each) for each in labels]).astype(np.int64),
        "names": np.array(names, dtype=np.str_),
    }


def _writers(path: Path) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Name, images and labels of each writer of a file; MalformedError where it contradicts itself."""
    found = []
    said: dict[str, list[Any]] = {}
    for member, name, value in members(path, ("user_data",)):
        if member == "user_data":
            found.append((name, *_samples(name, value)))
        elif member in ("users", "num_samples"):
            if not isinstance(value, list):
                raise MalformedError(f"{member} is no list")
            said[member] = value
    if said.keys() != {"users", "num_samples"} or not found:
        raise MalformedError("it lacks users, num_samples or user_data")
    held = {name: len(labels) for name, _, labels in found}
    users, counts = said["users"], said["num_samples"]
    if len(users) != len(counts) or held != dict(zip(users, counts, strict=True)):
        raise MalformedError("users and num_samples say something else than user_data")
    return found


def _samples(name: str, value: Any) -> tuple[np.ndarray, np.ndarray]:
    """A writer's images uint8 [N, 1, 28, 28], from values 0 to 1, and labels int64 [N]."""
    whose = f"of the writer {cut(name, 40)!r}"
    if not isinstance(value, dict) or not all(isinstance(value.get(key), list) for key in "xy"):
        raise MalformedError(f"the data {whose} are no x and y")
    try:
        x, y = np.array(value["x"], dtype=np.float64), np.array(value["y"])
    except (TypeError, ValueError) as error:
        raise MalformedError(f"x or y {whose} are no numbers, or images of several sizes") from error
    if x.shape != (len(y), _PIXELS) and len(y):
        raise MalformedError(f"x {whose} is {list(x.shape)} for {len(y)} labels and not [N, {_PIXELS}]")
    if len(y) and (y.ndim != 1 or y.dtype.kind not in "iu" or not 0 <= y.min() <= y.max() < len(CLASSES)):
        raise MalformedError(f"y {whose} holds something else than 0 to {len(CLASSES) - 1}")
    if len(y) and not (x.min() >= 0 and x.max() <= 1):
        raise MalformedError(f"x {whose} holds values outside 0 to 1")
    return np.round(255 * x).astype(np.uint8).reshape(-1, 1, 28, 28), y.astype(np.int64)
