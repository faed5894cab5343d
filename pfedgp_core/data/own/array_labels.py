"""Labels in an array: a class for each sample, a column of zeros with a one for each class, or too many of them."""

from collections import Counter
from pathlib import Path

import numpy as np

from pfedgp_core.data.own.samples import Findings, label_texts
from pfedgp_core.errors import DataError
from pfedgp_core.files.array_blocks import ArrayStream
from pfedgp_core.words import cut, few

__all__ = ["checked_labels", "named_labels"]


def checked_labels(path: Path, labels: ArrayStream, samples: int) -> None:
    """Refuse labels that are none for so many samples, by their shape; DataError."""
    shape = labels.shape
    if len(shape) not in (1, 2) or shape[0] != samples or 0 in shape[1:]:
        raise DataError(f"{path} has {samples} inputs and labels of shape {list(shape)}: give one label a sample.")


def named_labels(path: Path, labels: np.ndarray, names: np.ndarray | None, findings: Findings) -> tuple[str, ...]:
    """Labels as text; positions are replaced by the names that the file itself gives them.

    Parameters
    ----------
    path : Path
    labels : numpy.ndarray [N], [N, 1] or, with a one in the column of each sample's class, [N, K]
    names : numpy.ndarray, optional
        The file's ``class_names``.
    findings : Findings
        Receives a remark on labels in K columns.

    Raises
    ------
    DataError
        A sample has several classes or none of the columns, or a label that is none of the names.
    """
    if labels.ndim == 2 and labels.shape[1] > 1:
        labels = _of_columns(path, labels)
        findings.remark("The labels are a column for each class: read as the number of the column that holds a one.")
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


def _of_columns(path: Path, labels: np.ndarray) -> np.ndarray:
    """The column of each sample's one, int64 [N]; DataError where some sample has not exactly one."""
    marks = labels == 1 if labels.dtype.kind in "iufb" else np.zeros(labels.shape, bool)
    if not (marks | (labels == 0)).all():
        raise DataError(
            f"{path} has {len(labels)} inputs and labels of shape {list(labels.shape)} that are not all 0 or 1: give "
            "one label a sample, or a column of 0 and 1 for each class."
        )
    ones = marks.sum(axis=1)
    if (ones != 1).any():
        row = int((ones != 1).argmax())
        raise DataError(
            f"{path} has {int((ones > 1).sum())} samples with several of {labels.shape[1]} labels and "
            f"{int((ones == 0).sum())} with none (the first is row {row + 1}): pFedGP takes one class a sample, so "
            "choose one label, or make each combination a class."
        )
    return np.asarray(marks.argmax(axis=1))
