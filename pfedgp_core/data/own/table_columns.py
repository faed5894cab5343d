"""What all tables have in common: columns of features, one of classes, and rows that can be used or not."""

from collections import Counter
from pathlib import Path

import numpy as np

from pfedgp_core.data.column_names import plain_columns
from pfedgp_core.data.own.samples import Findings, Samples, Wanted, input_digests
from pfedgp_core.errors import DataError
from pfedgp_core.words import counted, cut, few

__all__ = ["split_columns", "usable_rows"]


def split_columns(path: Path, columns: list[str], wanted: Wanted, findings: Findings) -> tuple[list[str], str | None]:
    """Names of the features, and of the column of labels if there is one."""
    repeated = sorted(name for name, count in Counter(plain_columns(columns)).items() if count > 1)
    if repeated:
        raise DataError(f"{path} has several columns named {few(repeated)}: give each column its own name.")
    label = wanted.label_column if wanted.label_column in columns else None
    if label is None and wanted.labelled:
        raise DataError(
            f"{path} has no column {wanted.label_column!r} for the classes, but {few(columns, 10) or 'none at all'}: "
            "name it with --label-column."
        )
    features = [name for name in columns if name != label]
    if not features:
        findings.problem("The table has no column beside the label: give at least one feature.")
    elif wanted.layout.columns is not None:
        wanted.layout.columns.order(path, features)  # refuses others
    return features, label


def usable_rows(
    matrix: np.ndarray,
    labels: tuple[str, ...] | None,
    features: list[str],
    ids: list[str],
    wanted: Wanted,
    findings: Findings,
) -> Samples | None:
    """Samples of the rows that have all numbers, and a label if one is wanted; notes the others.

    The columns come in the order of the wanted ones. The digests do not depend on it: they are of the columns sorted
    by name, so that a sample stays the same one in a table that was written in another order.

    Parameters
    ----------
    matrix : numpy.ndarray, float64 [N, D]
    labels : tuple of str, length N, or None
    features : list of str, length D
    ids : list of str, length N
        Numbers of the rows.
    wanted : Wanted
    findings : Findings
        Receives what is wrong.
    """
    if wanted.layout.columns is not None:
        order = list(wanted.layout.columns.order("the table", features))
        matrix, features = matrix[:, order], [features[i] for i in order]
    with np.errstate(over="ignore"):
        inputs = matrix.astype(np.float32)
    finite = np.asarray(np.isfinite(inputs).all(axis=1))
    good = finite.copy()
    if not finite.all():
        row = int((~finite).argmax())
        column = features[int((~np.isfinite(inputs[row])).argmax())]
        findings.problem(
            f"Missing or infinite values in {int((~finite).sum())} of {counted(len(finite), 'row')} (the first is row "
            f"{ids[row]}, column {cut(column, 60)!r}): fill the gaps or remove the rows."
        )
    if labels is not None and wanted.labelled:
        named = np.array([bool(text) for text in labels], dtype=bool)
        if not named.all():
            findings.problem(
                f"No class in {int((~named).sum())} of {counted(len(named), 'row')} (the first is row "
                f"{ids[int((~named).argmax())]}): fill the column {wanted.label_column!r} or remove the rows."
            )
        good &= named
    if not len(inputs) and not findings.problems:
        findings.problem("The table has no row: give at least one sample.")
    rows = np.flatnonzero(good).tolist()
    if not rows or not features:
        return None
    kept = None if labels is None else tuple(labels[i] for i in rows)
    chosen = inputs[rows]
    digests = input_digests(chosen[:, _by_name(features)]) if wanted.digests else None
    return Samples(chosen, tuple(ids[i] for i in rows), kept, tuple(features), digests)


def _by_name(features: list[str]) -> list[int]:
    names = plain_columns(features)
    return sorted(range(len(names)), key=names.__getitem__)
