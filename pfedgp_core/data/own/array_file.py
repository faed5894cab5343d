"""Samples in a numpy ``.npz`` file: arrays of inputs and labels, optionally names of classes, columns and groups."""

import itertools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

import numpy as np

from pfedgp_core.data.own.array_columns import ArrayColumns
from pfedgp_core.data.own.array_labels import checked_labels, named_labels
from pfedgp_core.data.own.array_parts import PART_NAMES, part_in_archive
from pfedgp_core.data.own.channels import arranged_images, as_slices
from pfedgp_core.data.own.groups import group_name
from pfedgp_core.data.own.image_fit import fit_arrays
from pfedgp_core.data.own.ranged import ranged
from pfedgp_core.data.own.samples import Block, Findings, Samples, Wanted, input_digests, label_texts
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.array_blocks import ArrayStream, StreamedArrays, open_npz
from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError, decoding, open_regular
from pfedgp_core.memory import FLOAT
from pfedgp_core.words import counted, few, size

__all__ = ["INPUT_KEYS", "LABEL_KEYS", "arranged_inputs", "load_npz", "npz_blocks", "shaped_images"]

INPUT_KEYS = ("inputs", "images", "x", "features")
LABEL_KEYS = ("labels", "y")
NAMES_KEY = "class_names"
GROUPS_KEY = "groups"
COLUMNS_KEY = "columns"
BLOCK = 2**26  # bytes of the samples that are read at a time
SAMPLE = 200  # bytes of memory that a sample takes beside its values: its label as text, its number, its hash


@dataclass(frozen=True)
class _Arrays:
    """The arrays of a file, or of a part of it, that have not been read yet."""

    inputs: ArrayStream
    labels: ArrayStream | None
    names: np.ndarray | None
    groups: ArrayStream | None
    columns: ArrayColumns | None

    @property
    def size(self) -> int:
        """Bytes that they unpack to."""
        return sum(stream.size for stream in (self.inputs, self.labels, self.groups) if stream is not None)


def load_npz(path: Path, wanted: Wanted, findings: Findings) -> Samples | None:
    """Read the arrays ``inputs`` (or images, x, features), ``labels`` (or y), and names that are there.

    Images are uint8 [N, C, H, W], [N, H, W, C] or [N, H, W]; vectors any numbers [N, D]. Labels are texts, or integers:
    positions in ``class_names`` of the file where it has one. ``columns`` has the names of the columns of vectors.

    Returns
    -------
    Samples or None
        None where nothing is usable.

    Raises
    ------
    DataError
        The file cannot be read, or lacks an array.
    """
    findings.kind = "numpy archive"
    file, part = part_in_archive(path)
    with _as_npz(path), open_regular(file) as opened, decoding(file), open_npz(opened, _keys(part, wanted)) as archive:
        arrays = _arrays(path, part, archive, wanted)
        taken = arrays.inputs.shape[0] * SAMPLE + math.prod(arrays.inputs.shape) * FLOAT
        require_free(taken + arrays.size)
        labels = None if arrays.labels is None else arrays.labels.whole()
        groups = None if arrays.groups is None else arrays.groups.whole()
        texts = None if labels is None else named_labels(path, labels, arrays.names, findings)
        return _samples(arrays.inputs.whole(), texts, groups, arrays.columns, 0, wanted, findings)


def npz_blocks(path: Path, opened: BinaryIO, wanted: Wanted, rows: int, most: float = math.inf) -> Iterator[Block]:
    """Read the same from an open file, so many rows at a time, or fewer where rows are large.

    Parameters
    ----------
    path : Path
        Where it is, for what is said of it.
    opened : BinaryIO
        At the beginning of the archive.
    wanted : Wanted
    rows : int
    most : float
        Bytes to which the arrays may unpack.

    Raises
    ------
    DataError
        It cannot be read, is larger, or lacks an array, from the block on where that shows.
    """
    part = part_in_archive(path)[1]
    with _as_npz(path), decoding(path), open_npz(opened, _keys(part, wanted)) as archive:
        arrays = _arrays(path, part, archive, wanted)
        if (unpacked := arrays.size) > most:
            raise MalformedError(f"it unpacks to {size(unpacked)}, more than {size(most)}")
        inputs = arrays.inputs
        step = max(1, min(rows, BLOCK // max(1, math.prod(inputs.shape[1:]) * inputs.dtype.itemsize)))
        nothing: Iterator[np.ndarray | None] = itertools.repeat(None)
        labels = nothing if arrays.labels is None else arrays.labels.blocks(step)
        groups = nothing if arrays.groups is None else arrays.groups.blocks(step)
        first = 0
        for block, label, group in zip(inputs.blocks(step), labels, groups, strict=False):
            findings = Findings("numpy archive")
            texts = None if label is None else named_labels(path, label, arrays.names, findings)
            samples = _samples(block, texts, group, arrays.columns, first, wanted, findings)
            first += len(block)
            yield Block(samples, findings, first / max(1, inputs.shape[0]))
        next(labels, None)  # their checksums are compared at the end
        next(groups, None)


def _samples(
    inputs: np.ndarray,
    texts: tuple[str, ...] | None,
    groups: np.ndarray | None,
    columns: ArrayColumns | None,
    first: int,
    wanted: Wanted,
    findings: Findings,
) -> Samples | None:
    inputs, pages = as_slices(inputs, wanted)
    arranged = arranged_inputs(inputs, wanted, findings)
    if arranged is None:
        return None
    shaped: tuple[np.ndarray, str] | None = (arranged, "")
    if arranged.ndim == 4:
        shaped = shaped_images(arranged, wanted, findings, len(set(texts or ())))
    if shaped is None:
        return None
    ids = [str(first + i + 1) for i in range(len(arranged) // pages)]
    names = None if groups is None else tuple(map(group_name, label_texts(groups.reshape(len(groups)))))
    if pages > 1:
        names = tuple(f"volume {one}" for one in ids) if names is None else names
        ids = [f"{one}#{page + 1}" for one in ids for page in range(pages)]
    whole = Samples(
        shaped[0],
        tuple(ids),
        _repeated(texts, pages),
        digests=input_digests(arranged) if wanted.digests and columns is None else None,
        value_range=shaped[1],
        groups=_repeated(names, pages),
    )
    if columns is not None:
        whole = columns.named(whole, wanted.digests)
    return _usable(whole, arranged, wanted, findings)


def _repeated(values: tuple[str, ...] | None, times: int) -> tuple[str, ...] | None:
    """Each value so many times, as the slices of a volume have it."""
    return None if values is None else tuple(value for value in values for _ in range(times))


def shaped_images(
    images: np.ndarray, wanted: Wanted, findings: Findings, classes: int = 1
) -> tuple[np.ndarray, str] | None:
    """Images [N, C, H, W] of any numbers in the model's shape and range, with that range; None where they are not."""
    found = ranged(images, wanted, findings)
    fitted = None if found is None else fit_arrays(found[0], wanted, findings, classes)
    return None if found is None or fitted is None else (fitted, found[1])


@contextmanager
def _as_npz(path: Path) -> Iterator[None]:
    try:
        yield
    except UnreadableFileError as error:
        raise DataError(f"{path} cannot be read as .npz ({error.reason}): write it again with numpy.savez.") from error


def _keys(part: str, wanted: Wanted) -> set[str]:
    """Names, in lower case, of the arrays that are looked at."""
    own = {*INPUT_KEYS, *LABEL_KEYS, GROUPS_KEY, COLUMNS_KEY, (wanted.layout.group_column or GROUPS_KEY).lower()}
    return {NAMES_KEY, COLUMNS_KEY, *(f"{prefix}{key}" for prefix in _prefixes(part) for key in own)}


def _prefixes(part: str) -> tuple[str, ...]:
    return tuple(f"{name}_" for name, meant in PART_NAMES.items() if meant == part) if part else ("",)


def _arrays(path: Path, part: str, archive: StreamedArrays, wanted: Wanted) -> _Arrays:
    known = {name.lower(): stream for name, stream in archive.streams.items()}

    def pick(*keys: str) -> ArrayStream | None:
        return next((known[p + k] for p in _prefixes(part) for k in keys if p + k in known), None)

    inputs, labels = pick(*INPUT_KEYS), pick(*LABEL_KEYS)
    asked, kept = wanted.layout.group_column, wanted.layout.group_kept
    groups = pick((asked or GROUPS_KEY).lower(), *([GROUPS_KEY] if kept else []))
    if inputs is None or (labels is None and wanted.labelled):
        missing = INPUT_KEYS if inputs is None else LABEL_KEYS
        raise DataError(
            f"{path} holds the arrays {few(sorted(archive.names), 10) or 'none'}, but none of {', '.join(missing)}: "
            f"name the {'samples' if inputs is None else 'classes'} {missing[0]!r}."
        )
    if asked and groups is None and not kept:
        raise DataError(
            f"{path} holds the arrays {few(sorted(archive.names), 10)}, but none of the groups {asked!r}: give "
            "--group-column the name of an array with one group for each sample."
        )
    if labels is not None:
        checked_labels(path, labels, inputs.shape[0])
    if groups is not None and (groups.shape[0] != inputs.shape[0] or math.prod(groups.shape) != groups.shape[0]):
        raise DataError(
            f"{path} has {inputs.shape[0]} inputs and groups of shape {list(groups.shape)}: give one group a sample."
        )
    names = pick(NAMES_KEY) if labels is not None else None
    names = names or known.get(NAMES_KEY)
    columns = ArrayColumns.of(path, pick(COLUMNS_KEY) or known.get(COLUMNS_KEY), inputs, wanted)
    return _Arrays(inputs, labels, None if names is None or labels is None else names.whole(), groups, columns)


def arranged_inputs(inputs: np.ndarray, wanted: Wanted, findings: Findings) -> np.ndarray | None:
    """Images of any numbers [N, C, H, W], or float32 [N, D]; None where the array is neither, which is noted."""
    numbers = inputs.dtype.kind in "iufb"
    if inputs.ndim == 2 and numbers:
        with np.errstate(over="ignore"):
            return inputs.astype(np.float32)
    if inputs.ndim in (3, 4, 5) and numbers:
        return arranged_images(inputs, wanted, findings)
    findings.problem(
        f"The inputs are {inputs.dtype} {list(inputs.shape)}: give images [N, C, H, W] or vectors of numbers [N, D]."
    )
    return None


def _usable(samples: Samples, raw: np.ndarray, wanted: Wanted, findings: Findings) -> Samples | None:
    """The samples that are whole; the others are noted. `raw` are the inputs before they were resized."""
    good = np.ones(len(samples), dtype=bool)
    if raw.dtype.kind == "f":
        good = np.isfinite(raw).all(axis=tuple(range(1, raw.ndim)))
        if not good.all():
            findings.problem(
                f"NaN or infinity in {int((~good).sum())} of {counted(len(good), 'sample')} (the first is row "
                f"{samples.ids[int((~good).argmax())]}): fill the gaps or remove them."
            )
    for what, texts in (("class", samples.labels if wanted.labelled else None), ("group", samples.groups)):
        if texts is not None:
            named = np.array([bool(text) for text in texts], dtype=bool)
            if not named.all():
                findings.problem(
                    f"No {what} for {int((~named).sum())} of {counted(len(named), 'sample')} (the first is row "
                    f"{samples.ids[int((~named).argmax())]}): fill it or remove them."
                )
            good &= named
    rows = np.flatnonzero(good)
    if not len(rows):
        if not findings.problems:
            findings.problem("The file has no sample: give at least one.")
        return None
    return samples.take(rows)
