"""The kinds of a site's own data: which reader takes what is at a path, and the parts of a folder with splits."""

from collections.abc import Callable
from pathlib import Path

from pfedgp_core.data.own.array_file import load_npz
from pfedgp_core.data.own.array_parts import PART_NAMES, array_parts, part_in_archive
from pfedgp_core.data.own.check_command import check_command
from pfedgp_core.data.own.image_folder import load_image_folder
from pfedgp_core.data.own.image_listing import has_images, is_leaving
from pfedgp_core.data.own.parquet_table import load_parquet
from pfedgp_core.data.own.samples import Findings, Samples, Wanted
from pfedgp_core.data.own.tables import load_csv
from pfedgp_core.errors import DataError
from pfedgp_core.files.regular import reachable
from pfedgp_core.words import cut, shape_text

__all__ = [
    "PARQUET",
    "SUFFIXES",
    "given_path",
    "is_folder",
    "is_unknown",
    "nothing_at",
    "part_of",
    "read_path",
    "require_usable",
    "split_paths",
]

PARQUET = (".parquet", ".pq")
SPLITS = ("train", "validation", "test")
_Reader = Callable[[Path, Wanted, Findings], Samples | None]
_READERS: dict[str, _Reader] = {
    ".npz": load_npz,
    ".csv": load_csv,
    ".tsv": load_csv,
    ".parquet": load_parquet,
    ".pq": load_parquet,
}
SUFFIXES = tuple(_READERS)  # of files that are data


def require_usable(path: Path, samples: Samples | None, findings: Findings, wanted: Wanted, where: str = "") -> Samples:
    """Samples without a problem, of the wanted shape.

    Parameters
    ----------
    path : Path
        Of the data.
    samples : Samples or None
    findings : Findings
    wanted : Wanted
        How they were read.
    where : str
        The part of the data, in words that begin with a blank.

    Raises
    ------
    DataError
        The first problem.
    """
    input_shape, command = wanted.input_shape, check_command(path, wanted.label_column, wanted.layout)
    if samples is not None and input_shape is not None and samples.inputs.shape[1:] != input_shape:
        findings.problem(
            f"The samples have shape {shape_text(samples.inputs.shape[1:])}, and the model takes inputs of shape "
            f"{shape_text(input_shape)}: give data of that shape, or another model."
        )
    if findings.problems:
        more = len(findings.problems) - 1
        also = f" ({more} more found by: {command})" if more else ""
        raise DataError(f"{path}{where}: {findings.problems[0]}{also}")
    if samples is None:
        raise DataError(f"{path} holds no usable sample: see {command}")
    return samples


def given_path(path: str | Path) -> Path:
    """A path as it was given, with its ``~`` expanded; DataError for one that is empty or that no file can have."""
    if not str(path).strip():
        raise DataError(
            "The path of the data is empty, which would mean this whole folder: give a path, or '.' for it."
        )
    if "\0" in str(path):
        raise DataError(f"The path {cut(repr(str(path)), 100)} holds a null character: leave it out.")
    return Path(path).expanduser()


def split_paths(path: Path) -> dict[str, Path] | None:
    """The parts of data with splits, by split in the order train, validation, test; None for other data.

    A folder has them if every folder or data file in it is named after a split and ``train`` is among them. Folders of
    those names that hold images directly are classes. An archive has them if its arrays are named after splits.
    """
    with reachable(path):
        return _split_paths(path) if path.is_dir() else array_parts(path)


def _split_paths(path: Path) -> dict[str, Path] | None:
    found: dict[str, Path] = {}
    for entry in sorted(p for p in path.iterdir() if not is_leaving(p.name)):
        split = PART_NAMES.get(entry.stem.lower() if entry.is_file() else entry.name.lower())
        if entry.is_dir() and (split is None or has_images(entry)):
            return None
        if entry.is_file() and entry.suffix.lower() not in _READERS:
            continue
        if split is None:
            return None
        if split in found:
            raise DataError(f"{path} has the {split} data twice ({found[split].name}, {entry.name}): remove one.")
        found[split] = entry
    return {split: found[split] for split in SPLITS if split in found} if "train" in found else None


def part_of(path: Path, split: str | None) -> Path:
    """The data of a split, or those of a path without any."""
    parts = split_paths(path)
    if parts is None:
        return path
    if split not in parts:
        raise DataError(f"{path} has the splits {', '.join(parts)}: give one of them, such as {parts['train']}.")
    return parts[split]


def read_path(path: Path, wanted: Wanted, findings: Findings) -> Samples | None:
    """What is usable at a path, with the problems in the findings; DataError where nothing can be read."""
    if is_folder(path):
        return load_image_folder(path, wanted, findings)
    return _READERS[part_in_archive(path)[0].suffix.lower()](path, wanted, findings)


def is_folder(path: Path) -> bool:
    """Whether there are images to be read, and not a file that a reader knows; DataError where there is neither."""
    with reachable(path):
        if path.is_dir():
            return True
        if not part_in_archive(path)[0].exists():
            raise nothing_at(path)
    if is_unknown(path):
        raise DataError(
            f"{path} is of no known kind: give a folder of images by class, or a file that ends in "
            f"{', '.join(_READERS)}."
        )
    return False


def is_unknown(path: Path) -> bool:
    """Whether no reader knows what is there."""
    if path.is_dir():
        return False
    file = part_in_archive(path)[0]
    return not file.is_file() or file.suffix.lower() not in _READERS  # a device or pipe is no file


def nothing_at(path: Path) -> DataError:
    """The error for a path without anything at it."""
    return DataError(f"There is nothing at {path}: give the path of a folder of images, a .npz, .csv or .parquet file.")
