"""A site's own data: a path becomes samples with class names, and those the federation's class ids.

=====================================  =================================================================================
path                                   content
=====================================  =================================================================================
folder                                 a folder of images per class
``.npz``                               ``inputs`` (or images, x, features), ``labels`` (or y), optional ``class_names``
``.csv``                               a line of column names, a row per sample, a column for the class
``.parquet``, ``.pq``                  the same
name of a built-in data set            see `pfedgp_core.registry.DATASETS` and `pfedgp_core.data.own.builtin`
folder with ``train`` and, optionally  any of these per split: folders, or files such as ``train.npz``
``validation`` and ``test``
=====================================  =================================================================================
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from pfedgp_core.data.own.array_parts import part_in_archive
from pfedgp_core.data.own.check import DataReport, note_repeated, report_on
from pfedgp_core.data.own.class_ids import map_classes, to_targets
from pfedgp_core.data.own.kinds import (
    given_path,
    is_unknown,
    nothing_at,
    part_of,
    read_path,
    require_usable,
    split_paths,
)
from pfedgp_core.data.own.model_scale import scale_notes
from pfedgp_core.data.own.samples import AS_TOLD, Findings, Layout, Samples, Wanted
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.files.regular import reachable
from pfedgp_core.memory import MemoryLimit
from pfedgp_core.registry import DATASETS
from pfedgp_core.words import shape_text

__all__ = ["Samples", "check_data", "fingerprint", "read_samples", "read_splits"]


def read_samples(
    path: str | Path,
    *,
    input_shape: tuple[int, ...] | None = None,
    resize: bool = False,
    label_column: str = "label",
    labelled: bool = True,
    split: str | None = None,
    memory: MemoryLimit | None = None,
    room: Callable[[int, int], None] | None = None,
    layout: Layout = AS_TOLD,
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
    memory : MemoryLimit, optional
        How much resized images may take; default: most of the machine's memory.
    room : callable, optional
        Sees the number of images and of their classes before any is resized; see `Wanted`.
    layout : Layout
        How the values of a sample stand.

    Raises
    ------
    DataError
        There are no such data, or something is wrong with them; the text names the first problem.
    MemoryLimitError
        Resized images would take too much.
    """
    path = part_of(given_path(path), split)
    findings = Findings()
    wanted = Wanted(input_shape, resize, label_column, labelled, memory, room=room, layout=layout)
    samples = read_path(path, wanted, findings)
    return require_usable(path, samples, findings, wanted)


def read_splits(
    path: str | Path,
    *,
    input_shape: tuple[int, ...] | None = None,
    resize: bool = False,
    label_column: str = "label",
    memory: MemoryLimit | None = None,
    layout: Layout = AS_TOLD,
) -> dict[str, Samples]:
    """Read each split of a folder with splits; other data are all ``train``. See `read_samples`."""
    path = given_path(path)
    return {
        split: read_samples(
            part,
            input_shape=input_shape,
            resize=resize,
            label_column=label_column,
            memory=memory,
            layout=layout,
        )
        for split, part in (split_paths(path) or {"train": path}).items()
    }


def fingerprint(path: str | Path) -> tuple[tuple[str, int, int], ...]:
    """Names, sizes and times of change of all files at a path; another one when the data may have changed.

    Raises
    ------
    DataError
        There is nothing at the path, or it cannot be looked at.
    """
    path = given_path(path)
    with reachable(path):
        try:
            alone = part_in_archive(path)[0]
            files = [alone] if not path.is_dir() else [file for file in path.rglob("*") if file.is_file()]
            looks = [(file, file.stat()) for file in files]
        except FileNotFoundError:
            raise nothing_at(path) from None
    return tuple(sorted((str(file), look.st_size, look.st_mtime_ns) for file, look in looks))


def check_data(
    path: str | Path,
    *,
    label_column: str = "label",
    class_names: Sequence[str] | None = None,
    input_shape: tuple[int, ...] | None = None,
    resize: bool = False,
    data_root: str = "",
    regression: bool = False,
    layout: Layout = AS_TOLD,
    moments: tuple[np.ndarray, np.ndarray] | None = None,
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
    resize : bool
        Whether images are resized to it, as by a run with the setting ``input-shape``.
    data_root : str
        Folder of a built-in data set, where `path` is the name of one.
    regression : bool
        Whether the labels are the targets of a regression.
    layout : Layout
        The columns that the model takes, to compare with, and where channels are.
    moments : pair of arrays [C] or [D], optional
        Mean and deviation of the model's data, to compare with.

    Raises
    ------
    ConfigError
        A folder for a built-in data set that needs none, or for other data.
    DataError
        There is nothing at the path, or nothing that a reader knows.
    """
    found: dict[str, tuple[Samples | None, Findings]] = {}
    if str(path) in DATASETS:
        from pfedgp_core.data.own.builtin import builtin_samples

        kind = f"built-in data set {path}"
        shape = input_shape if resize else None
        found = {split: (own, Findings(kind)) for split, own in builtin_samples(str(path), data_root, shape).items()}
    elif data_root:
        raise ConfigError(f"A data root goes with the name of a built-in data set, not with {path}: leave it out.")
    else:
        path = given_path(path)
        for split, part in (split_paths(path) or {"": path}).items():
            wanted = Wanted(input_shape, resize, label_column, layout=layout, describe=True)
            found[split] = _looked_at(part, wanted)
    for samples, findings in found.values():
        if samples is not None:
            _compare(samples, findings, class_names, input_shape, regression)
            if moments is not None and samples.inputs.shape[1] == len(moments[0]):
                findings.remarks.extend(scale_notes(samples.inputs, samples.columns, *moments))
    parts = {split: samples for split, (samples, _) in found.items() if samples is not None}
    note_repeated(parts, {split: findings for split, (_, findings) in found.items()})
    return DataReport(str(path), tuple(report_on(split, *both, regression) for split, both in found.items()))


def _looked_at(path: Path, wanted: Wanted) -> tuple[Samples | None, Findings]:
    """What is usable at a path, and all that is wrong there."""
    findings = Findings()
    try:
        return read_path(path, wanted, findings), findings
    except DataError as error:
        if is_unknown(path):
            raise
        findings.problem(str(error))
        return None, findings


def _compare(
    samples: Samples,
    findings: Findings,
    class_names: Sequence[str] | None,
    input_shape: tuple[int, ...] | None,
    regression: bool,
) -> None:
    try:
        if regression:
            to_targets(samples)
        elif class_names is not None and samples.labels is not None:
            map_classes(samples.labels, class_names)
    except DataError as error:
        findings.problem(str(error))
    if input_shape is not None and samples.inputs.shape[1:] != input_shape:
        findings.problem(f"The model takes inputs of shape {shape_text(input_shape)}.")
