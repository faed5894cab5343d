"""Samples in a numpy ``.npz`` file: one array of inputs, one of labels, optionally the names of the classes."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar

import numpy as np

from pfedgp_core.data.own.channels import channels_in_front, name_volumes
from pfedgp_core.data.own.image_folder import fit_arrays
from pfedgp_core.data.own.samples import Block, Findings, Samples, Wanted, input_digests, label_texts
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.array_blocks import ArrayStream, open_npz
from pfedgp_core.files.memory import require_free
from pfedgp_core.files.regular import MalformedError, decoding, open_regular
from pfedgp_core.memory import FLOAT
from pfedgp_core.words import counted, cut, few, size

__all__ = ["INPUT_KEYS", "LABEL_KEYS", "arranged_inputs", "load_npz", "npz_blocks"]

INPUT_KEYS = ("inputs", "images", "x", "features")
LABEL_KEYS = ("labels", "y")
NAMES_KEY = "class_names"
KEYS = {*INPUT_KEYS, *LABEL_KEYS, NAMES_KEY}
BLOCK = 2**26  # bytes of the samples that are read at a time
SAMPLE = 200  # bytes of memory that a sample takes beside its values: its label as text, its number, its hash

T = TypeVar("T")
A = TypeVar("A", np.ndarray, ArrayStream)


def load_npz(path: Path, wanted: Wanted, findings: Findings) -> Samples | None:
    """Read the arrays ``inputs`` (or images, x, features), ``labels`` (or y) and, if there, ``class_names``.

    Images are uint8 [N, C, H, W], [N, H, W, C] or [N, H, W]; vectors any numbers [N, D]. Labels are texts, or integers:
    positions in ``class_names`` of the file where it has one.

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
    with _as_npz(path), open_regular(path) as opened, decoding(path), open_npz(opened, KEYS) as arrays:
        inputs, labels = _pick(arrays.streams, INPUT_KEYS), _pick(arrays.streams, LABEL_KEYS)
        _require_arrays(path, inputs, labels, arrays.names, wanted)
        assert inputs is not None
        if labels is not None:
            _column(path, labels, inputs)
        taken = inputs.shape[0] * SAMPLE + math.prod(inputs.shape) * FLOAT
        require_free(taken + sum(stream.size for stream in arrays.streams.values()))
        names = _pick(arrays.streams, (NAMES_KEY,)) if labels is not None else None
        known = None if names is None else names.whole()
        texts = None if labels is None else _named(path, labels.whole(), known)
        return _samples(inputs.whole(), texts, 0, wanted, findings)


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
    with _as_npz(path), decoding(path), open_npz(opened, KEYS) as arrays:
        inputs, labels = _pick(arrays.streams, INPUT_KEYS), _pick(arrays.streams, LABEL_KEYS)
        _require_arrays(path, inputs, labels, arrays.names, wanted)
        assert inputs is not None
        if (unpacked := sum(stream.size for stream in arrays.streams.values())) > most:
            raise MalformedError(f"it unpacks to {size(unpacked)}, more than {size(most)}")
        step = max(1, min(rows, BLOCK // max(1, math.prod(inputs.shape[1:]) * inputs.dtype.itemsize)))
        parts: Iterator[np.ndarray | None] = itertools.repeat(None)
        names = None
        if labels is not None:
            _column(path, labels, inputs)
            parts = labels.blocks(step)
            stream = _pick(arrays.streams, (NAMES_KEY,))
            names = None if stream is None else stream.whole()
        first = 0
        for block, part in zip(inputs.blocks(step), parts, strict=False):
            findings = Findings("numpy archive")
            texts = None if part is None else _named(path, part, names)
            samples = _samples(block, texts, first, wanted, findings)
            first += len(block)
            yield Block(samples, findings, first / max(1, inputs.shape[0]))
        next(parts, None)  # their checksum is compared at the end


def _samples(
    inputs: np.ndarray, texts: tuple[str, ...] | None, first: int, wanted: Wanted, findings: Findings
) -> Samples | None:
    arranged = arranged_inputs(inputs, wanted, findings)
    if arranged is None:
        return None
    classes = len(set(texts or ()))
    shaped = fit_arrays(arranged, wanted, findings, classes) if arranged.ndim == 4 else arranged
    if shaped is None:
        return None
    digests = input_digests(arranged) if wanted.digests else None
    return _usable(shaped, digests, texts, first, wanted, findings)


@contextmanager
def _as_npz(path: Path) -> Iterator[None]:
    try:
        yield
    except UnreadableFileError as error:
        raise DataError(f"{path} cannot be read as .npz ({error.reason}): write it again with numpy.savez.") from error


def _pick(arrays: Mapping[str, T], keys: tuple[str, ...]) -> T | None:
    known = {name.lower(): array for name, array in arrays.items()}
    return next((known[key] for key in keys if key in known), None)


def _require_arrays(
    path: Path, inputs: object | None, labels: object | None, names: tuple[str, ...], wanted: Wanted
) -> None:
    if inputs is None or (labels is None and wanted.labelled):
        missing = INPUT_KEYS if inputs is None else LABEL_KEYS
        raise DataError(
            f"{path} holds the arrays {few(sorted(names), 10) or 'none'}, but none of {', '.join(missing)}: "
            f"name the {'samples' if inputs is None else 'classes'} {missing[0]!r}."
        )


def _column(path: Path, labels: A, inputs: np.ndarray | ArrayStream) -> A:
    """The labels, where there is one for each input."""
    shape = labels.shape
    if len(shape) not in (1, 2) or shape[1:] not in ((), (1,)) or shape[0] != inputs.shape[0]:
        raise DataError(
            f"{path} has {inputs.shape[0]} inputs and labels of shape {list(shape)}: give one label a sample."
        )
    return labels


def _named(path: Path, labels: np.ndarray, names: np.ndarray | None) -> tuple[str, ...]:
    """Labels as text; positions are replaced by the names that the file itself gives them."""
    texts = label_texts(labels.reshape(len(labels)))
    if names is None:
        return texts
    known = label_texts(names.reshape(-1))
    if repeated := sorted(name for name, count in Counter(known).items() if count > 1):
        raise DataError(
            f"{path} names the class {cut(repeated[0], 60)!r} twice in class_names: give each class its own name."
        )
    by_name = labels.dtype.kind in "SU"
    meant = {name: name for name in known} if by_name else {str(i): name for i, name in enumerate(known)}
    wrong = [text for text in texts if text and text not in meant]
    if wrong:
        raise DataError(
            f"{path} labels a sample {cut(wrong[0], 60)!r}, but its class_names are {few(known, 10)}: give positions "
            f"from 0 to {len(known) - 1} or those names."
        )
    return tuple(meant[text] if text else "" for text in texts)


def arranged_inputs(inputs: np.ndarray, wanted: Wanted, findings: Findings) -> np.ndarray | None:
    """uint8 [N, C, H, W] or float32 [N, D]; None where the array is neither, which is noted."""
    if inputs.dtype == np.uint8 and inputs.ndim in (3, 4):
        return inputs[:, None] if inputs.ndim == 3 else channels_in_front(inputs, wanted, findings)
    if name_volumes(inputs, findings):
        return None
    if inputs.ndim == 2 and inputs.dtype.kind in "iufb":
        with np.errstate(over="ignore"):
            return inputs.astype(np.float32)
    findings.problem(
        f"The inputs are {inputs.dtype} {list(inputs.shape)}: give images as uint8 [N, C, H, W] with values 0 to 255, "
        "or vectors of numbers [N, D]."
    )
    return None


def _usable(
    inputs: np.ndarray,
    digests: np.ndarray | None,
    labels: tuple[str, ...] | None,
    before: int,
    wanted: Wanted,
    findings: Findings,
) -> Samples | None:
    good = np.ones(len(inputs), dtype=bool)
    if inputs.ndim == 2:
        good = np.isfinite(inputs).all(axis=1)
        if not good.all():
            findings.problem(
                f"NaN or infinity in {int((~good).sum())} of {counted(len(good), 'sample')} (the first is row "
                f"{before + int((~good).argmax()) + 1}): fill the gaps or remove them."
            )
    if labels is not None and wanted.labelled:
        named = np.array([bool(text) for text in labels], dtype=bool)
        if not named.all():
            findings.problem(
                f"No class for {int((~named).sum())} of {counted(len(named), 'sample')} (the first is row "
                f"{before + int((~named).argmax()) + 1}): fill it or remove them."
            )
        good &= named
    rows = np.flatnonzero(good).tolist()
    if not rows:
        if not findings.problems:
            findings.problem("The file has no sample: give at least one.")
        return None
    kept = None if labels is None else tuple(labels[i] for i in rows)
    ids = tuple(str(before + i + 1) for i in rows)
    return Samples(inputs[rows], ids, kept, digests=None if digests is None else digests[rows])
