"""What all tables have in common: columns of features, one of classes, and rows that can be used or not."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pfedgp_core.column_rules import column_rules
from pfedgp_core.data.column_names import is_hashed, near_columns, plain_columns
from pfedgp_core.data.own.samples import Findings, Samples, Wanted, input_digests
from pfedgp_core.data.tables.choice import is_index
from pfedgp_core.data.tables.draft import draft_rules
from pfedgp_core.data.tables.encode import encoded
from pfedgp_core.data.tables.facts import column_facts
from pfedgp_core.data.tables.faults import sentences
from pfedgp_core.data.tables.raw import RawTable
from pfedgp_core.errors import DataError
from pfedgp_core.words import counted, cut, few

__all__ = ["Roles", "split_columns", "usable_rows"]


@dataclass(frozen=True)
class Roles:
    """What the columns of a table are.

    Attributes
    ----------
    features : list of str
        In the order of the table.
    label : str or None
    id_column : str or None
        Names the samples.
    others : list of str
        Columns that are left out, and read for a report alone.
    """

    features: list[str]
    label: str | None
    id_column: str | None
    others: list[str]

    @property
    def read(self) -> list[str]:
        """Columns whose cells are read as numbers or texts."""
        return self.features + self.others


def split_columns(path: Path, columns: list[str], wanted: Wanted, findings: Findings) -> Roles:
    """What each column is; refuses a table that lacks one which somebody wants, or has none of features."""
    repeated = sorted(name for name, count in Counter(plain_columns(columns)).items() if count > 1)
    if repeated:
        raise DataError(f"{path} has several columns named {few(repeated)}: give each column its own name.")
    label = wanted.label_column if wanted.label_column in columns else None
    if label is None and wanted.labelled:
        raise DataError(
            f"{path} has no column {wanted.label_column!r} for the classes, but {few(columns, 10) or 'none at all'}: "
            "name it with --label-column."
        )
    choice, rules = wanted.layout.choice, column_rules(wanted.layout.rules or "")
    one = next((name for name in columns if name and plain_columns([name])[0] == choice.id_column), None)
    taken = {name for name in (label, one) if name is not None}
    expected = wanted.layout.columns
    known = expected.names if expected is not None and not is_hashed(expected.names) else ()
    chosen = choice.features(path, columns, taken, known)
    features = [name for name in chosen if rules.inputs([name])]
    lost = [name for name in rules.names if name not in set(plain_columns(features))]
    if lost:
        near = near_columns(columns, lost[:1])
        hint = f"did you mean {near[0][1]!r}?" if near else f"it has {few(columns, 10)}."
        raise DataError(f"{path} has no column {cut(lost[0], 60)!r}, for which the federation has a rule: {hint}")
    if index := [repr(name) for place, name in enumerate(columns) if is_index(name, place) and name not in features]:
        findings.remark(f"Left out, as the index of rows that pandas writes: {few(index)}; --columns would name it.")
    if not features:
        findings.problem("The table has no column beside the label: give at least one feature.")
    else:
        inputs = rules.inputs(features)
        if twice := sorted(name for name, count in Counter(plain_columns(inputs)).items() if count > 1):
            raise DataError(f"{path} has a column named as the input {twice[0]!r} that a rule makes: rename it.")
        if expected is not None:
            expected.order(path, inputs)  # refuses others
    others = [name for name in columns if name not in {*features, *taken}] if wanted.describe else []
    return Roles(features, label, one, others)


def usable_rows(
    table: RawTable,
    labels: Sequence[str] | None,
    names: Sequence[str] | None,
    roles: Roles,
    wanted: Wanted,
    findings: Findings,
) -> Samples | None:
    """Samples of the rows whose cells all become numbers, and that have a label if one is wanted; notes the others.

    The inputs come in the order of the wanted ones. The digests do not depend on it: they are of the inputs sorted
    by name, so that a sample stays the same one in a table that was written in another order.

    Parameters
    ----------
    table : RawTable
        The columns that were read, N rows.
    labels : sequence of str, length N, or None
    names : sequence of str, length N, or None
        Of the samples; an empty one, and None, stands for the number of the row.
    roles : Roles
    wanted : Wanted
    findings : Findings
        Receives what is wrong, and what the columns hold if that is wanted.
    """
    if wanted.describe:
        findings.columns = column_facts(table, labels, roles.label, roles.features)
        findings.rules = draft_rules(table, roles.features)
    made = encoded(table.select(roles.features), column_rules(wanted.layout.rules or ""))
    matrix, inputs = made.matrix(len(table)), tuple(made.names)
    if wanted.layout.columns is not None:
        order = list(wanted.layout.columns.order("the table", inputs))
        matrix, inputs = matrix[:, order], tuple(inputs[i] for i in order)
    with np.errstate(over="ignore"):
        values = matrix.astype(np.float32)
    good = np.asarray(np.isfinite(values).all(axis=1))
    ruled, unruled = ([f for f in made.faults if (f.rule is None) == lacks] for lacks in (False, True))
    for sentence in sentences(unruled, table.ids):
        (findings.remark if wanted.layout.rules is None else findings.problem)(sentence)
    for sentence in sentences(ruled, table.ids):
        findings.problem(sentence)
    _note_overflow(matrix, values, inputs, table.ids, findings)
    if labels is not None and wanted.labelled:
        named = np.array([bool(text) for text in labels], dtype=bool)
        if not named.all():
            findings.problem(
                f"No class in {int((~named).sum())} of {counted(len(named), 'row')} (the first is row "
                f"{table.ids[int((~named).argmax())]}): fill the column {wanted.label_column!r} or remove the rows."
            )
        good &= named
    if not len(table) and not findings.problems:
        findings.problem("The table has no row: give at least one sample.")
    rows = np.flatnonzero(good).tolist()
    if not rows or not inputs:
        return None
    kept = None if labels is None else tuple(labels[i] for i in rows)
    chosen = values[rows]
    digests = input_digests(chosen[:, _by_name(inputs)]) if wanted.digests else None
    called = table.ids if names is None else [name or one for name, one in zip(names, table.ids, strict=True)]
    return Samples(chosen, tuple(called[i] for i in rows), kept, inputs, digests)


def _note_overflow(
    matrix: np.ndarray, values: np.ndarray, inputs: Sequence[str], ids: Sequence[str], findings: Findings
) -> None:
    """Note numbers that are too large for 32 bits, and only as such."""
    large = np.isfinite(matrix) & ~np.isfinite(values)
    if large.any():
        row, column = np.argwhere(large)[0].tolist()
        findings.problem(
            f"Missing or infinite values in {int(large.any(axis=1).sum())} of {counted(len(ids), 'row')} (the first is "
            f"row {ids[row]}, column {cut(inputs[column], 60)!r}, beyond 32 bits): rescale the column."
        )


def _by_name(inputs: Sequence[str]) -> list[int]:
    names = plain_columns(inputs)
    return sorted(range(len(names)), key=names.__getitem__)
