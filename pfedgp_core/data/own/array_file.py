"""Samples in a numpy ``.npz`` file: one array of inputs, one of labels, optionally the names of the classes."""

from collections import Counter
from pathlib import Path

import numpy as np

from pfedgp_core.data.own.image_folder import fit_arrays
from pfedgp_core.data.own.samples import Findings, Samples, Wanted, input_digests, label_texts
from pfedgp_core.errors import DataError, UnreadableFileError
from pfedgp_core.files.arrays import Arrays, read_npz
from pfedgp_core.words import counted, cut, few

__all__ = ["INPUT_KEYS", "LABEL_KEYS", "load_npz"]

INPUT_KEYS = ("inputs", "images", "x", "features")
LABEL_KEYS = ("labels", "y")
NAMES_KEY = "class_names"


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
    arrays = _read(path)
    inputs = _pick(arrays, INPUT_KEYS)
    labels = _pick(arrays, LABEL_KEYS)
    if inputs is None or (labels is None and wanted.labelled):
        missing = INPUT_KEYS if inputs is None else LABEL_KEYS
        raise DataError(
            f"{path} holds the arrays {few(sorted(arrays.names), 10) or 'none'}, but none of {', '.join(missing)}: "
            f"name the {'samples' if inputs is None else 'classes'} {missing[0]!r}."
        )
    texts = None
    if labels is not None:
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels[:, 0]
        if labels.ndim != 1 or len(labels) != len(inputs):
            raise DataError(
                f"{path} has {len(inputs)} inputs and labels of shape {list(labels.shape)}: give one label a sample."
            )
        texts = _named(path, labels, _pick(arrays, (NAMES_KEY,)))
    arranged = _arranged(inputs, findings)
    if arranged is None:
        return None
    shaped = fit_arrays(arranged, wanted, findings) if arranged.ndim == 4 else arranged
    if shaped is None:
        return None
    return _usable(shaped, input_digests(arranged), texts, wanted, findings)


def _read(path: Path) -> Arrays:
    try:
        return read_npz(path, {*INPUT_KEYS, *LABEL_KEYS, NAMES_KEY})
    except UnreadableFileError as error:
        raise DataError(f"{path} cannot be read as .npz ({error.reason}): write it again with numpy.savez.") from error


def _pick(arrays: Arrays, keys: tuple[str, ...]) -> np.ndarray | None:
    known = {name.lower(): array for name, array in arrays.values.items()}
    found = [known[key] for key in keys if key in known]
    return np.atleast_1d(found[0]) if found else None


def _named(path: Path, labels: np.ndarray, names: np.ndarray | None) -> tuple[str, ...]:
    """Labels as text; positions are replaced by the names that the file itself gives them."""
    texts = label_texts(labels)
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


def _arranged(inputs: np.ndarray, findings: Findings) -> np.ndarray | None:
    """uint8 [N, C, H, W] or float32 [N, D]."""
    if inputs.dtype == np.uint8 and inputs.ndim in (3, 4):
        if inputs.ndim == 3:
            inputs = inputs[:, None]
        elif inputs.shape[1] not in (1, 3) and inputs.shape[3] in (1, 3):
            inputs = np.ascontiguousarray(inputs.transpose(0, 3, 1, 2))
        return inputs
    if inputs.ndim == 2 and inputs.dtype.kind in "iufb":
        with np.errstate(over="ignore"):
            return inputs.astype(np.float32)
    findings.problem(
        f"The inputs are {inputs.dtype} {list(inputs.shape)}: give images as uint8 [N, C, H, W] with values 0 to 255, "
        "or vectors of numbers [N, D]."
    )
    return None


def _usable(
    inputs: np.ndarray, digests: np.ndarray, labels: tuple[str, ...] | None, wanted: Wanted, findings: Findings
) -> Samples | None:
    good = np.ones(len(inputs), dtype=bool)
    if inputs.ndim == 2:
        good = np.isfinite(inputs).all(axis=1)
        if not good.all():
            findings.problem(
                f"NaN or infinity in {int((~good).sum())} of {counted(len(good), 'sample')} (the first is row "
                f"{int((~good).argmax()) + 1}): fill the gaps or remove them."
            )
    if labels is not None and wanted.labelled:
        named = np.array([bool(text) for text in labels], dtype=bool)
        if not named.all():
            findings.problem(
                f"No class for {int((~named).sum())} of {counted(len(named), 'sample')} (the first is row "
                f"{int((~named).argmax()) + 1}): fill it or remove them."
            )
        good &= named
    rows = np.flatnonzero(good).tolist()
    if not rows:
        if not findings.problems:
            findings.problem("The file has no sample: give at least one.")
        return None
    kept = None if labels is None else tuple(labels[i] for i in rows)
    return Samples(inputs[rows], tuple(str(i + 1) for i in rows), kept, digests=digests[rows])
