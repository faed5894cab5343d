"""A site's own data: a path becomes samples with class names, and those the federation's class ids.

=====================================  =================================================================================
path                                   content
=====================================  =================================================================================
folder                                 a folder of images per class
``.npz``                               ``inputs`` (or images, x, features), ``labels`` (or y), optional ``class_names``
``.csv``                               a line of column names, a row per sample, a column for the class
``.parquet``, ``.pq``                  the same
folder with ``train`` and, optionally  any of these per split: folders, or files such as ``train.npz``
``validation`` and ``test``
=====================================  =================================================================================

A label that is an integer is a position in the federation's list of classes, unless that list itself consists of such
names.
"""

import difflib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pfedgp_core.array_file import load_npz
from pfedgp_core.data_check import DataReport, report_on
from pfedgp_core.data_spec import normal_class
from pfedgp_core.errors import DataError
from pfedgp_core.image_folder import has_images, load_image_folder
from pfedgp_core.own_samples import Findings, Samples, Wanted, few, shape_text
from pfedgp_core.samples import Split
from pfedgp_core.tables import load_csv, load_parquet

__all__ = ["Samples", "check_data", "map_classes", "read_samples", "read_splits", "split_paths", "to_split"]

SPLITS = ("train", "validation", "test")
_SPLIT_NAMES = {
    "train": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "test": "test",
}
_Reader = Callable[[Path, Wanted, Findings], Samples | None]
_READERS: dict[str, _Reader] = {
    ".npz": load_npz,
    ".csv": load_csv,
    ".tsv": load_csv,
    ".parquet": load_parquet,
    ".pq": load_parquet,
}


def read_samples(
    path: str | Path,
    *,
    input_shape: tuple[int, ...] | None = None,
    resize: bool = False,
    label_column: str = "label",
    labelled: bool = True,
    split: str | None = None,
) -> Samples:
    """Read all samples of a path.

    Parameters
    ----------
    path : str or Path
    input_shape : tuple of int, optional
        Shape of one input of the model, (C, H, W) or (D,); data of another shape are refused.
    resize : bool
        Resize images of another size (bilinear, antialiased).
    label_column : str
        Column of a table that holds the class.
    labelled : bool
        Whether samples without a class are refused. With False, labels are read where there are some.
    split : {"train", "validation", "test"}, optional
        Which part of a folder with splits; such a folder is refused without it. Other data have no parts.

    Raises
    ------
    DataError
        There are no such data, or something is wrong with them; the text names the first problem.
    """
    path = Path(path).expanduser()
    parts = split_paths(path)
    if parts is not None:
        if split not in parts:
            raise DataError(f"{path} has the splits {', '.join(parts)}: give one of them, such as {parts['train']}.")
        path = parts[split]
    findings = Findings()
    samples = _read(path, Wanted(input_shape, resize, label_column, labelled), findings)
    if samples is not None and input_shape is not None and samples.inputs.shape[1:] != input_shape:
        findings.problem(
            f"The samples have shape {shape_text(samples.inputs.shape[1:])}, and the model takes inputs of shape "
            f"{shape_text(input_shape)}: give data of that shape, or another model."
        )
    if findings.problems:
        more = len(findings.problems) - 1
        also = f" ({more} more found by: pfedgp check-data {path})" if more else ""
        raise DataError(f"{path}: {findings.problems[0]}{also}")
    if samples is None:
        raise DataError(f"{path} holds no usable sample: see pfedgp check-data {path}.")
    return samples


def read_splits(
    path: str | Path,
    *,
    input_shape: tuple[int, ...] | None = None,
    resize: bool = False,
    label_column: str = "label",
) -> dict[str, Samples]:
    """Read each split of a folder with splits; other data are all ``train``. See `read_samples`."""
    return {
        split: read_samples(part, input_shape=input_shape, resize=resize, label_column=label_column)
        for split, part in (split_paths(Path(path).expanduser()) or {"train": Path(path)}).items()
    }


def map_classes(names: Sequence[str], class_names: Sequence[str]) -> np.ndarray:
    """Class ids of labels, by name or, where they are integers and no class has such a name, by position.

    Parameters
    ----------
    names : sequence of str, length N
    class_names : sequence of str
        The federation's classes.

    Returns
    -------
    numpy.ndarray, int64 [N]

    Raises
    ------
    DataError
        A class that the federation does not have.
    """
    known = {normal_class(name): i for i, name in enumerate(class_names)}
    distinct = sorted(set(names))
    if all(map(_is_integer, distinct)) and not any(map(_is_integer, known)):
        known = {str(i): i for i in range(len(class_names))}
        ids = {name: known.get(str(int(name)), -1) for name in distinct}
    else:
        ids = {name: known.get(normal_class(name), -1) for name in distinct}
    unknown = [name for name in distinct if ids[name] < 0]
    if unknown:
        near = difflib.get_close_matches(unknown[0], list(class_names), n=1)
        hint = f"did you mean {near[0]!r}?" if near else "rename it, or leave its samples out."
        raise DataError(
            f"The class {unknown[0]!r} is none of the federation's {len(class_names)} classes "
            f"({few(class_names, 10)}): {hint}"
        )
    return np.array([ids[name] for name in names], dtype=np.int64)


def to_split(samples: Samples, class_names: Sequence[str]) -> Split:
    """Samples with the federation's class ids.

    Raises
    ------
    DataError
        A class that the federation does not have, or samples without classes.
    """
    if samples.labels is None:
        raise DataError("The samples have no classes: give labelled data.")
    return Split(samples.inputs, map_classes(samples.labels, class_names))


def check_data(
    path: str | Path,
    *,
    label_column: str = "label",
    class_names: Sequence[str] | None = None,
    input_shape: tuple[int, ...] | None = None,
) -> DataReport:
    """Look at everything and report all that is wrong, instead of raising at the first problem.

    Parameters
    ----------
    path : str or Path
    label_column : str
    class_names : sequence of str, optional
        The federation's classes, to compare with.
    input_shape : tuple of int, optional
        The shape that the model takes, to compare with.

    Raises
    ------
    DataError
        There is nothing at the path, or nothing that a reader knows.
    """
    path = Path(path).expanduser()
    parts = split_paths(path)
    reports = []
    for split, part in (parts or {"": path}).items():
        findings = Findings()
        samples = None
        try:
            samples = _read(part, Wanted(input_shape, label_column=label_column), findings)
            if samples is not None and class_names is not None and samples.labels is not None:
                map_classes(samples.labels, class_names)
        except DataError as error:
            if not part.exists() or _unknown_kind(part):
                raise
            findings.problem(str(error))
        if samples is not None and input_shape is not None and samples.inputs.shape[1:] != input_shape:
            findings.problem(f"The model takes inputs of shape {shape_text(input_shape)}.")
        reports.append(report_on(split, samples, findings))
    return DataReport(str(path), tuple(reports))


def split_paths(path: Path) -> dict[str, Path] | None:
    """The parts of a folder with splits, by split in the order train, validation, test; None for other data.

    A folder is one if every folder or data file in it is named after a split and ``train`` is among them. Folders of
    those names that hold images directly are classes.
    """
    if not path.is_dir():
        return None
    found: dict[str, Path] = {}
    for entry in sorted(p for p in path.iterdir() if not p.name.startswith(".")):
        split = _SPLIT_NAMES.get(entry.stem.lower() if entry.is_file() else entry.name.lower())
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


def _read(path: Path, wanted: Wanted, findings: Findings) -> Samples | None:
    if path.is_dir():
        return load_image_folder(path, wanted, findings)
    if not path.exists():
        raise DataError(
            f"There is nothing at {path}: give the path of a folder of images, a .npz, .csv or .parquet file."
        )
    if _unknown_kind(path):
        raise DataError(
            f"{path} is of no known kind: give a folder of images by class, or a file that ends in "
            f"{', '.join(_READERS)}."
        )
    return _READERS[path.suffix.lower()](path, wanted, findings)


def _unknown_kind(path: Path) -> bool:
    return path.is_file() and path.suffix.lower() not in _READERS


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdecimal()
