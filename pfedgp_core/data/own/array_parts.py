"""The parts of a ``.npz`` file that brings its own splits, as MedMNIST's do: ``train_images``, ``val_labels``.

A part is named as if the file were a folder: ``path.npz/train``.
"""

from pathlib import Path

from pfedgp_core.errors import UnreadableFileError
from pfedgp_core.files.array_blocks import open_npz
from pfedgp_core.files.regular import decoding, open_regular

__all__ = ["PART_NAMES", "array_parts", "part_in_archive"]

PART_NAMES = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "test": "test",
}
_KEYS = ("inputs", "images", "x", "features")


def array_parts(path: Path) -> dict[str, Path] | None:
    """The parts of a file by split; None where it has none or cannot be read, which its reader says."""
    if path.suffix.lower() != ".npz" or not path.is_file():
        return None
    try:
        with open_regular(path) as opened, decoding(path), open_npz(opened, ()) as archive:
            names = {name.lower() for name in archive.names}
    except UnreadableFileError:
        return None
    if names.intersection(_KEYS):
        return None
    found = {split for name, split in PART_NAMES.items() if any(f"{name}_{key}" in names for key in _KEYS)}
    return (
        {split: path / split for split in ("train", "validation", "test") if split in found}
        if "train" in found
        else None
    )


def part_in_archive(path: Path) -> tuple[Path, str]:
    """The file and the part of it that a path names; the part is empty for a whole file."""
    split = PART_NAMES.get(path.name)
    if split is not None and path.parent.suffix.lower() == ".npz" and path.parent.is_file():
        return path.parent, split
    return path, ""
