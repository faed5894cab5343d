"""What all tables have in common: columns of features, one of classes, and rows that can be used or not."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pfedgp_core.column_rules import ColumnRules, column_rules
from pfedgp_core.data.column_names import is_hashed, near_columns, plain_columns
from pfedgp_core.data.own.groups import group_name
from pfedgp_core.data.own.samples import Findings, Samples, Wanted, input_digests
from pfedgp_core.data.tables.choice import is_index
from pfedgp_core.data.tables.draft import draft_rules
from pfedgp_core.data.tables.encode import Fault, encoded
from pfedgp_core.data.tables.facts import column_facts
from pfedgp_core.data.tables.faults import sentences, unknown_texts
from pfedgp_core.data.tables.raw import RawTable
from pfedgp_core.errors import DataError
from pfedgp_core.words import counted, cut, few

__all__ = ["Marks", "Roles", "split_columns", "usable_rows"]


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
    group : str or None
        Names the group of each sample.
    others : list of str
        Columns that are left out, and read for a report alone.
    """

    features: list[str]
    label: str | None
    id_column: str | None
    group: str | None
    others: list[str]

    @property
    def read(self) -> list[str]:
        """Columns whose cells are read as numbers or texts."""
        return self.features + self.others


@dataclass(frozen=True)
class Marks:
    """What stands beside the features of N rows, as text; None where no column holds it.

    Attributes
    ----------
    labels : sequence of str, length N, or None
    names : sequence of str, length N, or None
        Of the samples; an empty one, and None, stands for the number of the row.
    groups : sequence of str, length N, or None
    """

    labels: Sequence[str] | None = None
    names: Sequence[str] | None = None
    groups: Sequence[str] | None = None


def split_columns(path: Path, columns: list[str], wanted: Wanted, findings: Findings) -> Roles:
    """What each column is; refuses a table that lacks one which somebody wants, or has none of features."""
    repeated = sorted(name for name, count in Counter(plain_columns(columns)).items() if count > 1)
    if repeated:
        raise DataError(f"{path} has several columns named {few(repeated)}: give each column its own name.")
    label = wanted.label_column if wanted.label_column in columns else None
    if label is None and wanted.labelled:
        raise DataError(
            f"{path} has no column {wanted.label_column!r} for the classes, but {few(columns, 10) or 'none at all'}: "
            "name one of these with --label-column."
        )
    choice, rules = wanted.layout.choice, column_rules(wanted.layout.rules or "")
    one, group = (_named(columns, name) for name in (choice.id_column, wanted.layout.group_column))
    if wanted.layout.group_column and group is None and wanted.labelled and not wanted.layout.group_kept:
        raise DataError(
            f"{path} has no column {cut(wanted.layout.group_column, 60)!r} for the groups, but {few(columns, 10)}: "
            "give --group-column one of them."
        )
    taken = {name for name in (label, one, group) if name is not None}
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
            expected.order(path, inputs, _remedy(wanted, label, known))  # refuses others
    others = [name for name in columns if name not in {*features, *taken}] if wanted.describe else []
    return Roles(features, label, one, group, others)


def _remedy(wanted: Wanted, label: str | None, known: Sequence[str]) -> str:
    """What to do about columns that are not expected: the column of classes is named, or may be one of them."""
    options = "--drop, --id-column or --group-column"
    if not (wanted.labelled and wanted.layout.choice.strict):  # new samples of a site, which has its groups
        options = "--drop or --id-column"
    found = f"rename or remove columns, or name what is no feature with {options}"
    if label is not None and plain_columns([label])[0] not in plain_columns(tuple(known)):
        return found
    return f"{found}, and the column of the class with --label-column"


def _named(columns: Sequence[str], wanted: str) -> str | None:
    """The column of a name that may be empty, which no column has."""
    return next((name for name in columns if wanted and plain_columns([name]) == plain_columns([wanted])), None)


def usable_rows(table: RawTable, marks: Marks, roles: Roles, wanted: Wanted, findings: Findings) -> Samples | None:
    """Samples of the rows whose cells all become numbers, and that have a label if one is wanted; notes the others.

    The inputs come in the order of the wanted ones. The digests do not depend on it: they are of the inputs sorted
    by name, so that a sample stays the same one in a table that was written in another order.

    Parameters
    ----------
    table : RawTable
        The columns that were read, N rows.
    marks : Marks
    roles : Roles
    wanted : Wanted
    findings : Findings
        Receives what is wrong, and what the columns hold if that is wanted.
    """
    if wanted.describe:
        findings.columns = column_facts(table, marks.labels, roles.label, roles.features)
        findings.rules = draft_rules(table, roles.features)
    own_groups = None if marks.groups is None else tuple(map(group_name, marks.groups))
    rules = column_rules(wanted.layout.rules or "")
    if wanted.raw:
        findings.raw = table.select([name for name in roles.features if rules.of(name) is None])
        findings.groups = own_groups
    made = encoded(table.select(roles.features), rules)
    matrix, inputs = made.matrix(len(table)), tuple(made.names)
    if wanted.layout.columns is not None:
        order = list(wanted.layout.columns.order("the table", inputs))
        matrix, inputs = matrix[:, order], tuple(inputs[i] for i in order)
    with np.errstate(over="ignore"):
        values = matrix.astype(np.float32)
    good = np.asarray(np.isfinite(values).all(axis=1))
    ruled, unruled = ([f for f in made.faults if (f.rule is None) == lacks] for lacks in (False, True))
    if unruled:
        _note_unruled(unruled, rules, table, wanted, findings)
    for sentence in sentences(ruled, table.ids):
        findings.problem(sentence)
    notes = tuple(unknown_texts(made.unknown, table.ids))
    findings.remarks += notes
    _note_overflow(matrix, values, inputs, table.ids, findings)
    if wanted.labelled:
        good &= _filled(marks.labels, "class", roles.label, table.ids, findings)
        good &= _filled(own_groups, "group", roles.group, table.ids, findings)
    if not len(table) and not findings.problems:
        findings.problem("The table has no row: give at least one sample.")
    rows = np.flatnonzero(good).tolist()
    if not rows or not inputs:
        return None
    chosen = values[rows]
    kept, groups = (None if of is None else tuple(of[i] for i in rows) for of in (marks.labels, own_groups))
    digests = input_digests(chosen[:, _by_name(inputs)]) if wanted.digests else None
    called = [name or one for name, one in zip(marks.names or [""] * len(table), table.ids, strict=True)]
    return Samples(chosen, tuple(called[i] for i in rows), kept, inputs, digests, groups=groups, notes=notes)


def _note_unruled(
    faults: Sequence[Fault], rules: ColumnRules, table: RawTable, wanted: Wanted, findings: Findings
) -> None:
    """What is no number in columns without a rule: problems, unless a run will bring rules."""
    names = few(list(dict.fromkeys(repr(cut(fault.column, 60)) for fault in faults)))
    if wanted.layout.agrees:
        findings.remark(
            f"The sites of this run agree on rules for {names} before round 1; until then no row is usable."
        )
    elif wanted.layout.rules is None:  # a site that knows no run yet
        findings.remark(
            f"Texts, gaps or dates in {names}: a run takes them where it has rules for them, or its sites agree on "
            "some. Show them with: pfedgp check-data"
        )
    else:
        for sentence in sentences(faults, table.ids):
            findings.problem(sentence)
        if not rules.names and wanted.layout.columns is None:
            findings.remark('The sites of a run agree on rules by themselves with column-rules-from = "federated".')


def _filled(
    texts: Sequence[str] | None, what: str, column: str | None, ids: Sequence[str], findings: Findings
) -> np.ndarray:
    """Which rows have a class or group, bool [N]; notes the others."""
    there = np.array([bool(text) for text in texts], dtype=bool) if texts is not None else np.ones(len(ids), bool)
    if not there.all():
        findings.problem(
            f"No {what} in {int((~there).sum())} of {counted(len(there), 'row')} (the first is row "
            f"{ids[int((~there).argmax())]}): fill the column {column!r} or remove the rows."
        )
    return there


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
