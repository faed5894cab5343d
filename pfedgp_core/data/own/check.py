"""The report of ``pfedgp check-data``: classes, counts, shapes, and everything that is wrong with a site's data."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pfedgp_core.data.column_names import COLUMN_NAME_LIMIT, HASHED, is_hashed, plain_columns
from pfedgp_core.data.own.groups import group_notes, shared_groups_text
from pfedgp_core.data.own.samples import Findings, Samples
from pfedgp_core.data.spec import CLASS_NAME_LIMIT, CLASSES_OF_A_SITE, LARGEST_INPUT, normal_class, spellings
from pfedgp_core.data.tables.facts import ColumnFacts, facts_lines
from pfedgp_core.data.value_range import range_text
from pfedgp_core.names import escaped, name_fault
from pfedgp_core.words import counted, cut, few, shape_text

__all__ = ["DataReport", "SplitReport", "note_repeated", "report_on", "unusable"]

NOTES = 20  # on columns
UNEQUAL = 10  # times as many samples as of the smallest class


@dataclass(frozen=True)
class SplitReport:
    """What one part of the data holds.

    Attributes
    ----------
    split : str
        ``train``, ``validation`` or ``test``; empty for data without parts.
    kind : str
        What the data are, in words.
    usable : int
        Samples without a problem.
    counts : dict of str to int
        The same of each class, by class name.
    input_shape : tuple of int or None
        Shape of a usable sample.
    value_range : str
        Of images, see `pfedgp_core.data.value_range`; empty for vectors.
    problems, remarks : tuple of str
        Sentences; problems keep the data from being used.
    columns : tuple of ColumnFacts
        Of a table.
    rules : str
        A draft of rules for its columns, as TOML.
    """

    split: str
    kind: str
    usable: int
    counts: dict[str, int]
    input_shape: tuple[int, ...] | None
    value_range: str
    problems: tuple[str, ...]
    remarks: tuple[str, ...]
    columns: tuple[ColumnFacts, ...] = ()
    rules: str = ""


@dataclass(frozen=True)
class DataReport:
    """What the data at a path hold."""

    path: str
    splits: tuple[SplitReport, ...]

    @property
    def trainable(self) -> bool:
        """Whether the data can be used as they are."""
        return not any(part.problems for part in self.splits)

    @property
    def problems(self) -> tuple[str, ...]:
        """All problems of all parts."""
        return tuple(problem for part in self.splits for problem in part.problems)

    @property
    def remarks(self) -> tuple[str, ...]:
        """All remarks of all parts."""
        return tuple(remark for part in self.splits for remark in part.remarks)

    def text(self) -> str:
        """The report for a person."""
        lines = [_shown(self.path)]
        for part in self.splits:
            shape = f", each of {_size(part.input_shape)}" if part.input_shape else ""
            shape += f", {range_text(part.value_range)}" if part.value_range else ""
            name = f"{part.split}: " if part.split else ""
            lines.append(f"\n{name}{part.kind}, {counted(part.usable, 'usable sample')}{shape}")
            counts = [(_shown(label), count) for label, count in part.counts.items()]
            width = max((len(label) for label, _ in counts), default=0)
            lines += [f"  {label:<{width}}  {count}" for label, count in counts]
            lines += [f"  {line}" for line in facts_lines(part.columns)] if part.columns else []
            lines += [f"  problem: {problem}" for problem in part.problems]
            lines += [f"  note: {remark}" for remark in part.remarks]
        lines.append("\nThese data can be used." if self.trainable else "\nThese data cannot be used as they are.")
        return "\n".join(lines)


def report_on(split: str, samples: Samples | None, findings: Findings, regression: bool = False) -> SplitReport:
    """Count what is usable, and note classes that are too small to learn from; a regression has no classes."""
    labels = () if samples is None or regression else samples.labels or ()
    counted_as = spellings(Counter(map(normal_class, labels)))
    ordered = dict(sorted(Counter(counted_as[normal_class(label)] for label in labels).items()))
    problems, remarks = list(findings.problems), list(findings.remarks)
    if samples is not None:
        problems += unusable(samples, regression)
    if samples is not None and samples.groups is not None:
        remarks += group_notes(samples.groups)
    if samples is not None and samples.inputs.ndim == 2 and not samples.columns:
        remarks.append(
            "The values have no names of columns, so they are taken by position: all sites must have the same features "
            "in the same order. A table in CSV or Parquet has names."
        )
    notes = [(fact, note) for fact in findings.columns if fact.feature for note in fact.notes]
    remarks += [f"The column {cut(fact.name, 60)!r} {note}" for fact, note in notes[:NOTES]]
    if len(notes) > NOTES:
        remarks.append(f"{len(notes) - NOTES} more notes on columns.")
    written = Counter(counted_as[normal_class(label)] for label in set(labels))
    if twins := [_shown(name) for name in ordered if written[name] > 1]:
        remarks.append(f"Written in several ways that look alike, and counted as one class each: {few(twins)}.")
    if len(ordered) > CLASSES_OF_A_SITE:
        remarks.append(
            f"{len(ordered):,} classes: a run takes more than {CLASSES_OF_A_SITE:,} from one site only if its setting "
            "class-names has them; are the labels numbers, as in task = 'regression'?"
        )
    usable = 0 if samples is None else len(samples)
    if split in ("", "train") and samples is not None:
        single = [_shown(name) for name, count in ordered.items() if count == 1]
        if single:
            remarks.append(f"Classes with a single sample: {few(single)}; their probabilities will stay uncertain.")
        if len(ordered) == 1 and not problems:  # a problem may have left out the others
            remarks.append(
                f"There is only the class {next(iter(ordered))!r}: a site with these data can take part in a run, but "
                "trains nothing in it, and its classifier always answers that class."
            )
        if len(ordered) > 1 and (rare := min(ordered.values())) * UNEQUAL <= (most := max(ordered.values())):
            least = [_shown(name) for name, count in ordered.items() if count == rare]
            remarks.append(
                f"Classes of very different size: {few(least)} with {rare} of {counted(usable, 'sample')}, the largest "
                f"with {most}. A rare class is seldom answered: look at what is found of it, not at the accuracy, and "
                "see pfedgp predict --prior."
            )
    shape = None if samples is None else samples.inputs.shape[1:]
    values = "" if samples is None else samples.value_range
    told = tuple(problems), tuple(remarks), findings.columns, findings.rules
    return SplitReport(split, findings.kind, usable, ordered, shape, values, *told)


def unusable(samples: Samples, regression: bool = False) -> list[str]:
    """Sentences about what was read well and cannot take part in a federation: names of classes, and inputs.

    Parameters
    ----------
    samples : Samples
    regression : bool
        Whether the labels are targets, and no classes.
    """
    problems = []
    names = set() if regression else set(samples.labels or ())
    if any(label and not normal_class(label) for label in names):
        problems.append("A class has a blank name: give it one.")
    faults = {name: name_fault(name, CLASS_NAME_LIMIT) for name in sorted(map(normal_class, names)) if name}
    if bad := [f"{escaped(name)[:60]} ({fault})" for name, fault in faults.items() if fault]:
        problems.append(
            f"Not a name of a class: {few(bad)}; give names of at most {CLASS_NAME_LIMIT} printable characters."
        )
    faults = {name: name_fault(name, COLUMN_NAME_LIMIT) for name in plain_columns(samples.columns)}
    if bad := [f"{escaped(name)[:60]!r} ({fault})" for name, fault in faults.items() if fault]:
        problems.append(f"Not a name of a column: {few(bad)}; rename it, or remove the column.")
    if is_hashed(samples.columns):
        problems.append(f"A column's name begins with {HASHED!r}, as a hash of a name does: rename it.")
    inputs = samples.inputs
    if 0 in inputs.shape[1:]:
        problems.append(
            f"The samples have shape {shape_text(inputs.shape[1:])}, so no values: give at least one feature."
        )
    elif inputs.dtype.kind == "f" and (large := np.abs(inputs) > LARGEST_INPUT).any():
        row, column = np.argwhere(large)[0].tolist()[:2]
        where = repr(samples.columns[column]) if samples.columns else column + 1
        touched = int(large.any(axis=tuple(range(1, large.ndim))).sum())
        problems.append(
            f"Values beyond {LARGEST_INPUT:g} in {touched} of {counted(len(inputs), 'sample')} "
            f"(the first is row {samples.ids[row]}, column {where}): rescale the column, or remove codes for missing "
            "values."
        )
    return problems


def note_repeated(parts: Mapping[str, Samples], findings: Mapping[str, Findings]) -> None:
    """Note inputs that occur again: in a part, with another class, which is contradictory, or in a part of its own.

    Parameters
    ----------
    parts : mapping of split to Samples
    findings : mapping of split to Findings
        Receives the remarks.
    """
    if shared_text := shared_groups_text({split: samples.groups for split, samples in parts.items()}):
        findings[next(iter(parts))].problem(shared_text)
    seen: dict[bytes, str] = {}
    for split, samples in parts.items():
        keys = [] if samples.digests is None else [row.tobytes() for row in samples.digests]
        labels: dict[bytes, set[str]] = {}
        for key, label in zip(keys, samples.labels or (), strict=False):
            labels.setdefault(key, set()).add(label)
        torn = [names for names in labels.values() if len(names) > 1]
        if torn:
            findings[split].remark(
                f"Equal inputs with different classes: {counted(len(torn), 'input')} (such as one in "
                f"{few(sorted(torn[0]))}); one of the labels may be wrong."
            )
        if copies := len(keys) - len(set(keys)):
            findings[split].remark(
                f"Equal to another one: {copies} of {counted(len(keys), 'sample')}, {len(set(keys))} different; equal "
                "ones are never in two splits, and are no independent evidence."
            )
        shared = Counter(seen[key] for key in set(keys) if key in seen)
        for other, count in sorted(shared.items()):
            findings[split].remark(
                f"In {other} too: {counted(count, 'input')} of {split}, on which every measure is too good; remove the "
                "repeated ones."
            )
        seen |= dict.fromkeys(set(keys) - seen.keys(), split)


def _shown(name: str) -> str:
    """A name as a terminal can show it."""
    return name if name.isprintable() else repr(name)[1:-1]


def _size(shape: tuple[int, ...]) -> str:
    """How large one sample is: a row of a table has values, an image a shape."""
    return counted(shape[0], "value") if len(shape) == 1 else f"shape {shape_text(shape)}"
