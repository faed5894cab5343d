"""A site's own data in this process: read once, split once, and read again only when the files changed.

=================  ====================================================================================================
node config        meaning
=================  ====================================================================================================
``data-path``      the site's labelled data, as for ``pfedgp check-data``, or the name of a built-in data set
``data-root``      folder of a built-in data set that has files
``label-column``   column of a table that holds the class or the target (default ``label``)
``client-name``    the site's name in the federation
``state``          folder in which the split is kept
``device``         where the site computes: auto (default), cpu, cuda, cuda:1
``max-memory``     gigabytes that the site may use; default: most of the machine's memory
=================  ====================================================================================================
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from client.memory import site_limit
from client.notices import remember_columns
from pfedgp_core.config import Settings
from pfedgp_core.data.datasets import ClientData, TensorSplit
from pfedgp_core.data.moments import input_moments
from pfedgp_core.data.own.builtin import builtin_samples
from pfedgp_core.data.own.check import unusable
from pfedgp_core.data.own.class_ids import to_split, to_targets
from pfedgp_core.data.own.kept_split import PARTS, assign_parts, keep_split, rows_by_part
from pfedgp_core.data.own.kinds import split_paths
from pfedgp_core.data.own.reader import fingerprint, read_splits
from pfedgp_core.data.own.samples import Samples
from pfedgp_core.data.samples import Split, normalised
from pfedgp_core.data.spec import DataSpec, normal_class, parse_shape, union_of_classes
from pfedgp_core.errors import ConfigError, DataError
from pfedgp_core.memory import MemoryLimit
from pfedgp_core.names import NAME_LIMIT, name_fault
from pfedgp_core.registry import DATASETS, TASKS
from pfedgp_core.words import shape_text

__all__ = ["OwnSite", "Source", "own_site"]

logger = logging.getLogger("pfedgp.client")

CACHED_SITES = 16  # a process serves one node; a test serves some in turn
SPLIT_FILE = "split.json"
_NO_ROWS = np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class Source:
    """Where a site's data are, and how they are read.

    Parameters
    ----------
    name : str
        Of the site in the federation; may be empty for a site that only takes a published model.
    path : str
        Of the data, or the name of a built-in data set.
    root : str
        Folder of a built-in data set.
    label_column : str
    state : str
        Folder in which the split is kept; empty: nowhere.
    input_shape : tuple of int, optional
        Shape to which images are brought.
    regression : bool
        Whether the labels are targets.
    resize : bool
        Whether images of another size than that are resized or refused.
    memory : MemoryLimit, optional
        How much the samples may take; default: most of the machine's memory.
    """

    name: str
    path: str
    root: str = ""
    label_column: str = "label"
    state: str = ""
    input_shape: tuple[int, ...] | None = None
    regression: bool = False
    resize: bool = True
    memory: MemoryLimit | None = field(default=None, compare=False)

    @classmethod
    def of(cls, settings: Settings, node_config: Mapping[str, Any]) -> "Source":
        """The source of a node with ``data-path``.

        Raises
        ------
        ConfigError
            The node has no name that the federation could know it by, the setting ``input-shape`` is no shape, or
            ``max-memory`` is no amount of memory.
        """
        name = str(node_config.get("client-name", "")).strip()
        if fault := name_fault(name, NAME_LIMIT):
            raise ConfigError(
                f"client-name = {name!r} is not the name of a site, as it {fault}: give a site with data of its own a "
                f'name of at most {NAME_LIMIT} printable characters, such as client-name="ward-3".'
            )
        return cls(
            name,
            str(node_config["data-path"]).strip(),
            str(node_config.get("data-root", "")).strip(),
            str(node_config.get("label-column", "label")),
            str(node_config.get("state", "")).strip(),
            parse_shape(settings.input_shape),
            not TASKS[settings.task].classes,
            memory=site_limit(node_config),
        )

    @property
    def builtin(self) -> bool:
        """Whether the path is the name of a built-in data set; a folder of that name is given as ``./digits``."""
        return self.path in DATASETS


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
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.parts: dict[str, Samples] = {}
        self.class_names: tuple[str, ...] = ()
        self.mean: tuple[float, ...] = ()
        self.std: tuple[float, ...] = ()
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
    def trained_classes(self) -> set[str]:
        """Classes of the training data; empty in regression."""
        labels = () if self.source.regression else self.parts["train"].labels
        return set(map(normal_class, labels or ()))

    def count(self, part: str) -> int:
        """Number of samples in a part."""
        return len(self.parts[part]) if part in self.parts else 0

    def split(self, part: str, spec: DataSpec) -> Split:
        """The raw samples of a part with the federation's class ids, or with their targets.

        Raises
        ------
        DataError
            A class that the federation does not have, or samples of another shape than its own.
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
            )
        if not source.builtin and split_paths(Path(source.path).expanduser()) is None:
            parts = self._divided(parts["train"])
        shapes = {part: samples.inputs.shape[1:] for part, samples in parts.items()}
        if len(set(shapes.values())) > 1:
            named = ", ".join(f"{part} {shape_text(shape)}" for part, shape in shapes.items())
            raise DataError(f"The parts of {source.path} have inputs of several shapes ({named}): give all parts one.")
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
        remember_columns(source.path, parts["train"].columns)
        counts = ", ".join(f"{self.count(part)} {part}" for part in PARTS)
        logger.info("own data: %s samples, each of shape %s", counts, shape_text(self.input_shape))

    def _divided(self, whole: Samples) -> dict[str, Samples]:
        """Data without parts, divided by the kept split or, without a state folder, by the digests alone."""
        assert whole.digests is not None  # every reader gives them
        digests = [row.tobytes().hex() for row in whole.digests]
        classes = [""] * len(whole) if self.source.regression else list(map(normal_class, whole.labels or ()))
        if self.source.state:
            assigned = keep_split(Path(self.source.state).expanduser() / SPLIT_FILE, digests, classes)
        else:
            logger.warning(
                "this node has no state folder: its samples are divided by their content alone, and data that grow may "
                "move some from training to test; give the node config state=FOLDER to keep the split"
            )
            assigned = assign_parts(digests, classes)
        return {part: whole.take(rows) for part, rows in rows_by_part(assigned).items()}


@lru_cache(maxsize=CACHED_SITES)
def own_site(source: Source) -> OwnSite:
    """The site of a source, one object in this process; its data are read when they are asked for."""
    return OwnSite(source)
