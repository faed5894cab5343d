"""The input and output of every reader of a site's own data: options, samples, and the problems found.

A reader never stops at the first fault. It leaves out what it cannot use and says so in `Findings`, so that
``check-data`` can show all faults at once and everything else can refuse the data for the same reasons.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pfedgp_core.data.own.layout import AS_TOLD, Layout
from pfedgp_core.data.tables.facts import ColumnFacts
from pfedgp_core.data.tables.raw import RawTable
from pfedgp_core.data.value_range import joined_inputs
from pfedgp_core.memory import MemoryLimit, inputs_need, require_memory

__all__ = ["AS_TOLD", "Block", "Findings", "Layout", "Samples", "Wanted", "input_digests", "label_texts"]


@dataclass(frozen=True)
class Wanted:
    """What the reader of the samples needs.

    Attributes
    ----------
    input_shape : tuple of int, optional
        Shape of one input of the model; without it, what the data agree on.
    resize : bool
        Whether images of another size are resized (bilinear, antialiased) or refused.
    label_column : str
        Column of a table that holds the class.
    labelled : bool
        Whether samples without a class are a problem.
    memory : MemoryLimit, optional
        How much resized images may take; default: most of the machine's memory.
    digests : bool
        Whether the samples get their hashes.
    room : callable, optional
        Sees the number of images and of their classes before any is resized, and raises MemoryLimitError where there
        is no room for what is to be made of them.
    layout : Layout
        How the values of a sample stand.
    describe : bool
        Whether the findings get what each column of a table holds.
    raw : bool
        Whether they get a table as it was read.
    """

    input_shape: tuple[int, ...] | None = None
    resize: bool = False
    label_column: str = "label"
    labelled: bool = True
    memory: MemoryLimit | None = None
    digests: bool = True
    room: Callable[[int, int], None] | None = None
    layout: Layout = AS_TOLD
    describe: bool = False
    raw: bool = False

    def require_room(self, samples: int, classes: int) -> None:
        """Make sure that so many samples, resized to the wanted shape, keep to the limits; raises MemoryLimitError."""
        if self.resize and self.input_shape is not None:
            if self.room is not None:
                self.room(samples, classes)
            require_memory([inputs_need(samples, self.input_shape)], self.memory or MemoryLimit.of_machine())


@dataclass(frozen=True)
class Samples:
    """Samples as they were read, with the names that the data give their classes.

    Attributes
    ----------
    inputs : numpy.ndarray
        Images, uint8 [N, C, H, W] or, of other values than bytes, float32; or vectors, float32 [N, D].
    ids : tuple of str, length N
        File names relative to the data's folder, or numbers of rows counted from 1; of a page with its number, as in
        ``a.tif#2``.
    labels : tuple of str, length N, or None
        Class names, or integers as text; None for data without classes.
    columns : tuple of str
        Names of the D columns of a table; empty for other data.
    digests : numpy.ndarray, uint8 [N, 32], or None
        What the inputs are before any resizing, see `input_digests`; of a table with its columns sorted by name.
    value_range : str
        Of images, see `pfedgp_core.data.value_range`; empty for vectors.
    groups : tuple of str, length N, or None
        What each sample belongs to, such as a patient or a volume: samples of a group stay together. None: nothing.
    notes : tuple of str
        What a person should know of how they were read.
    """

    inputs: np.ndarray
    ids: tuple[str, ...]
    labels: tuple[str, ...] | None
    columns: tuple[str, ...] = ()
    digests: np.ndarray | None = None
    value_range: str = ""
    groups: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def take(self, rows: np.ndarray) -> "Samples":
        """The samples of some rows, int64 [n]."""
        chosen = rows.tolist()
        return replace(
            self,
            inputs=self.inputs[rows],
            ids=tuple(self.ids[i] for i in chosen),
            labels=None if self.labels is None else tuple(self.labels[i] for i in chosen),
            digests=None if self.digests is None else self.digests[rows],
            groups=None if self.groups is None else tuple(self.groups[i] for i in chosen),
        )

    def arranged(self, order: Sequence[int]) -> "Samples":
        """The samples of a table with their columns in another order; themselves where it is the same."""
        if tuple(order) == tuple(range(len(self.columns))):
            return self
        columns = tuple(self.columns[i] for i in order)
        return replace(self, inputs=np.ascontiguousarray(self.inputs[:, list(order)]), columns=columns)

    def between(self, first: int, end: int) -> "Samples":
        """The samples from the first one up to the end, without their hashes."""
        labels = None if self.labels is None else self.labels[first:end]
        groups = None if self.groups is None else self.groups[first:end]
        inputs, ids = self.inputs[first:end], self.ids[first:end]
        return replace(self, inputs=inputs, ids=ids, labels=labels, digests=None, groups=groups)

    def followed_by(self, other: "Samples") -> "Samples":
        """These samples and then those of another part of the same data."""
        labels = None if self.labels is None or other.labels is None else self.labels + other.labels
        inputs = joined_inputs([self.inputs, other.inputs])
        groups = None if self.groups is None or other.groups is None else self.groups + other.groups
        return replace(self, inputs=inputs, ids=self.ids + other.ids, labels=labels, digests=None, groups=groups)


@dataclass
class Findings:
    """What is wrong with data.

    Attributes
    ----------
    kind : str
        What the data are, in words.
    problems : list of str
        Sentences; with any of them the data are refused.
    remarks : list of str
        Sentences about what is unusual and works.
    columns : tuple of ColumnFacts
        What each column of a table holds, where that was asked for.
    rules : str
        A draft of rules for these columns, as TOML.
    raw : RawTable or None
        The features for which there is no rule, as they were read, where that was asked for.
    groups : tuple of str or None
        Of its rows.
    """

    kind: str = ""
    problems: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    columns: tuple[ColumnFacts, ...] = ()
    rules: str = ""
    raw: RawTable | None = None
    groups: tuple[str, ...] | None = None

    def problem(self, sentence: str) -> None:
        """Note what makes the data unusable."""
        self.problems.append(sentence)

    def remark(self, sentence: str) -> None:
        """Note what a person should know."""
        self.remarks.append(sentence)


@dataclass(frozen=True)
class Block:
    """Samples that follow each other in data that are read a part at a time.

    Attributes
    ----------
    samples : Samples or None
        None where nothing is usable.
    findings : Findings
        Of this part.
    share : float
        Part of the data, 0 to 1, up to the end of these.
    """

    samples: Samples | None
    findings: Findings
    share: float


def input_digests(inputs: np.ndarray) -> np.ndarray:
    """SHA-256 of every input, its type and shape included. Shapes: [N, ...] -> uint8 [N, 32]."""
    if inputs.dtype.kind == "f":
        inputs = inputs + inputs.dtype.type(0)  # -0 becomes 0
    head = f"{inputs.dtype} {list(inputs.shape[1:])} ".encode()
    rows = [hashlib.sha256(head + values.tobytes()).digest() for values in inputs]
    return np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(len(rows), 32)


def label_texts(values: np.ndarray) -> tuple[str, ...]:
    """Labels of any plain type as text; a missing one (None, NaN, blank) is empty.

    Parameters
    ----------
    values : numpy.ndarray [N]
        Integers, whole numbers in floating point, booleans or texts.
    """
    return tuple(map(_label_text, values.tolist()))


def _label_text(value: object) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        value = int(value)
    return str(value).strip()
