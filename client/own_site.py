"""A site's own data in this process: read once, split once, and read again only when the files changed."""

import logging
from functools import lru_cache
from pathlib import Path

import numpy as np
import torch

from client.notices import remember_columns
from client.source import Source
from pfedgp_core.data.datasets import ClientData, TensorSplit
from pfedgp_core.data.moments import input_moments
from pfedgp_core.data.own.builtin import builtin_samples
from pfedgp_core.data.own.check import unusable
from pfedgp_core.data.own.class_ids import to_split, to_targets
from pfedgp_core.data.own.groups import shared_groups_text
from pfedgp_core.data.own.kept_split import PARTS, assign_parts, keep_split, rows_by_part
from pfedgp_core.data.own.kinds import split_paths
from pfedgp_core.data.own.reader import fingerprint, read_splits
from pfedgp_core.data.own.samples import Samples, input_digests
from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.data.samples import Split, normalised
from pfedgp_core.data.spec import DataSpec, normal_class, union_of_classes
from pfedgp_core.data.value_range import range_text, usual_range
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.words import shape_text

__all__ = ["OwnSite", "own_site"]

logger = logging.getLogger("pfedgp.client")

CACHED_SITES = 16  # a process serves one node; a test serves some in turn
SPLIT_FILE = "split.json"
_NO_ROWS = np.empty(0, dtype=np.int64)


class OwnSite:
    """A site's own samples in three parts.

    Attributes
    ----------
    parts : dict of str to Samples
        ``train`` and, where there are some, ``validation`` and ``test``; inputs are raw.
    class_names : tuple of str
        Of all parts, sorted; empty in regression.
    mean, std : tuple of float
        Moments of the raw training inputs, std 0 where all are equal.
    sent_columns : tuple of str
        What the server gets to know of the names of a table's columns, in the order of the moments.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.parts: dict[str, Samples] = {}
        self.class_names: tuple[str, ...] = ()
        self.mean: tuple[float, ...] = ()
        self.std: tuple[float, ...] = ()
        self.sent_columns: tuple[str, ...] = ()
        self._files: object = None
        self._tensors: tuple[DataSpec, torch.device, ClientData] | None = None

    def refresh(self) -> "OwnSite":
        """Read the data if they were not read yet or their files changed since; returns itself.

        Raises
        ------
        DataError
            The data cannot be used.
        ConfigError
            A built-in data set with a folder that it does not have.
        ArtefactError
            The kept split is damaged or cannot be written.
        """
        former, self.parts = self.parts, {}  # data that cannot be read any more are not used any more
        files = None if self.source.builtin else fingerprint(self.source.path)
        if former and files == self._files:
            self.parts = former
        else:
            self._tensors = None
            self._load()
            self._files = files
        return self

    def loaded(self) -> "OwnSite":
        """Read the data if they were not read yet; returns itself. Raises as `refresh`."""
        return self if self.parts else self.refresh()

    @property
    def input_shape(self) -> tuple[int, ...]:
        """Shape of one input."""
        return self.parts["train"].inputs.shape[1:]

    @property
    def value_range(self) -> str:
        """Range of the values of images; empty for vectors."""
        return self.parts["train"].value_range

    def range_misfit(self, spec: DataSpec) -> str:
        """Say that the images have another range than the federation's; empty where they have not, and for vectors."""
        own, other = self.value_range, usual_range(spec.value_range, spec.input_shape)
        if not own or not other or own == other:
            return ""
        return (
            f"its images have {range_text(own)}, and those of the federation {range_text(other)}; bring them to that "
            f"range, or start the site with --value-range {other} if they have it"
        )

    @property
    def trained_classes(self) -> set[str]:
        """Classes of the training data; empty in regression."""
        labels = () if self.source.regression else self.parts["train"].labels
        return set(map(normal_class, labels or ()))

    def count(self, part: str) -> int:
        """Number of samples in a part."""
        return len(self.parts[part]) if part in self.parts else 0

    def split(self, part: str, spec: DataSpec) -> Split:
        """The raw samples of a part with the federation's class ids, or with their targets, and its order of columns.

        Raises
        ------
        DataError
            A class or columns that the federation does not have, or samples of another shape or range than its own.
        """
        samples = self.parts.get(part)
        if samples is None:
            samples = self.parts["train"].take(_NO_ROWS)
        if samples.inputs.shape[1:] != spec.input_shape:
            table = samples.inputs.ndim == 2
            remedy = "give the table the federation's columns" if table else "bring the images to that shape"
            raise DataError(
                f"This site's samples have shape {shape_text(samples.inputs.shape[1:])}, and the federation's "
                f"{shape_text(spec.input_shape)}: {remedy}."
            )
        if reason := self.range_misfit(spec):
            raise DataError(f"This site cannot take part: {reason}.")
        if self.sent_columns:
            wanted = self.source.columns.wanted(spec.columns, "the federation")
            samples = samples.arranged(wanted.order(self.source.path, samples.columns))
        return to_targets(samples) if self.source.regression else to_split(samples, spec.class_names)

    def data(self, spec: DataSpec, device: torch.device) -> ClientData:
        """All parts normalised on a device; made once and kept. Raises as `split`."""
        if self._tensors is None or self._tensors[:2] != (spec, device):
            self._tensors = None  # the former ones need not be in memory at the same time
            tensors = {part: self._on(device, self.split(part, spec), spec) for part in PARTS}
            made = ClientData(
                self.source.name,
                spec.class_names,
                tensors["train"],
                tensors["validation"],
                tensors["test"],
                spec.mean,
                spec.std,
            )
            self._tensors = spec, device, made
        return self._tensors[2]

    @staticmethod
    def _on(device: torch.device, split: Split, spec: DataSpec) -> TensorSplit:
        made = normalised(split, np.array(spec.mean), np.array(spec.std))
        return TensorSplit(made.inputs.to(device), made.labels.to(device))

    def _load(self) -> None:
        source = self.source
        if source.builtin:
            parts = builtin_samples(source.path, source.root, source.input_shape, source.memory)
        elif source.root:
            raise ConfigError(
                f"data-root = {source.root!r} goes with the name of a built-in data set, and data-path is "
                f"{source.path!r}: leave out data-root."
            )
        else:
            parts = read_splits(
                source.path,
                input_shape=source.input_shape,
                resize=source.resize and source.input_shape is not None,
                label_column=source.label_column,
                memory=source.memory,
                layout=source.layout,
            )
        if torn := shared_groups_text({part: samples.groups for part, samples in parts.items()}):
            raise DataError(f"{source.path}: {torn}")
        if not source.builtin and split_paths(Path(source.path).expanduser()) is None:
            parts = self._divided(parts["train"])
        parts = _in_one_order(source.path, parts)
        _require_alike(source.path, parts)
        for samples in parts.values():
            if problems := unusable(samples, source.regression):
                raise DataError(f"{source.path}: {problems[0]}")
        self.class_names = () if source.regression else union_of_classes(s.labels or () for s in parts.values())
        if source.regression:
            for samples in parts.values():
                to_targets(samples)
        if len(parts["train"]):
            mean, std = input_moments(parts["train"].inputs)
        else:
            mean = std = np.zeros(parts["train"].inputs.shape[1])
            logger.warning(
                "no training samples: all of %s belong to validation or test, so this site's updates are empty; give "
                "it more data, or a new state folder, which makes a new split",
                source.path,
            )
        self.mean, self.std = tuple(mean.tolist()), tuple(std.tolist())
        self.parts = parts
        columns = parts["train"].columns
        self.sent_columns = source.columns.sent(columns)
        remember_columns(source.path, columns, self.sent_columns if source.columns.key else ())
        for note in dict.fromkeys(note for samples in parts.values() for note in samples.notes):
            logger.warning("%s", note)
        counts = ", ".join(f"{self.count(part)} {part}" for part in PARTS)
        logger.info("own data: %s samples, each of shape %s", counts, shape_text(self.input_shape))

    def _divided(self, whole: Samples) -> dict[str, Samples]:
        """Data without parts, divided by the kept split or, without a state folder, by the digests alone."""
        assert whole.digests is not None  # every reader gives them
        digests = _hexes(whole.digests)
        classes = [""] * len(whole) if self.source.regression else list(map(normal_class, whole.labels or ()))
        if self.source.state:
            file = Path(self.source.state).expanduser() / SPLIT_FILE
            assigned = keep_split(file, digests, classes, lambda: _hexes(input_digests(whole.inputs)), whole.groups)
        else:
            logger.warning(
                "this node has no state folder: its samples are divided by their content alone, and data that grow may "
                "move some from training to test; give the node config state=FOLDER to keep the split"
            )
            assigned = assign_parts(digests, classes, groups=whole.groups)
        if len(whole) and "test" not in assigned:
            logger.warning(
                "no test samples: equal samples and those of a group stay together, and %s holds too few others, so "
                "this site tests nothing; give it more samples, or another group-column",
                self.source.path,
            )
        return {part: whole.take(rows) for part, rows in rows_by_part(assigned).items()}


def _require_alike(path: str, parts: dict[str, Samples]) -> None:
    """Refuse parts of several shapes or ranges, DataError."""
    shapes = {part: samples.inputs.shape[1:] for part, samples in parts.items()}
    if len(set(shapes.values())) > 1:
        named = ", ".join(f"{part} {shape_text(shape)}" for part, shape in shapes.items())
        raise DataError(f"The parts of {path} have inputs of several shapes ({named}): give all parts one.")
    ranges = {part: samples.value_range for part, samples in parts.items()}
    if len(set(ranges.values())) > 1:
        named = ", ".join(f"{part} {name}" for part, name in ranges.items())
        raise DataError(
            f"The parts of {path} have images of several ranges of values ({named}): give --value-range if they have "
            "one, or bring them to one."
        )


def _in_one_order(path: str, parts: dict[str, Samples]) -> dict[str, Samples]:
    """The parts of a table with their columns in the order of ``train``; DataError where they have others."""
    wanted = WantedColumns(parts["train"].columns, whose="the part train")
    return {
        part: samples.arranged(wanted.order(f"the part {part} of {path}", samples.columns))
        for part, samples in parts.items()
    }


def _hexes(digests: np.ndarray) -> list[str]:
    return [row.tobytes().hex() for row in digests]


@lru_cache(maxsize=CACHED_SITES)
def own_site(source: Source) -> OwnSite:
    """The site of a source, one object in this process; its data are read when they are asked for."""
    return OwnSite(source)
