"""A user's own data as the data set of a simulation: a path, or a TOML file that says where and how they are read.

The file is how a data set is registered: it holds ``path``, relative to itself, and keys as of a site's node config.

::

    path = "scans"
    label-column = "diagnosis"
    group-column = "PatientID"
    partition-by = "InstitutionName"
    pages = "slices"
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from pfedgp_core.column_rules import FEDERATED
from pfedgp_core.config import Settings
from pfedgp_core.data.moments import input_statistics
from pfedgp_core.data.own.check import unusable
from pfedgp_core.data.own.class_ids import to_split, to_targets
from pfedgp_core.data.own.groups import shared_groups_text
from pfedgp_core.data.own.kept_split import assign_parts, rows_by_part
from pfedgp_core.data.own.kinds import given_path
from pfedgp_core.data.own.layout import Layout, layout_of
from pfedgp_core.data.own.raw_table import is_table
from pfedgp_core.data.own.reader import fingerprint, read_splits
from pfedgp_core.data.own.samples import Samples
from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.data.partitions.sites import SPLITS, Sites
from pfedgp_core.data.samples import Dataset
from pfedgp_core.data.sets.rules_of_sites import clients_of, rules_of_sites
from pfedgp_core.data.spec import normal_class, parse_shape, union_of_classes
from pfedgp_core.errors import ConfigError, DataError, UnreadableFileError
from pfedgp_core.files.toml_file import read_toml
from pfedgp_core.names import NAME_LIMIT, name_fault
from pfedgp_core.registry import TASKS
from pfedgp_core.words import cut

__all__ = ["OwnData", "described_data", "own_data"]

GROUP = "group"  # value of partition-by: each group is a client
_SETTINGS = ("path", "label-column", "group-column", "partition-by")  # of a run, too
_KEYS = (
    *_SETTINGS,
    *("pages", "channels", "value-range", "window", "columns", "drop", "id-column", "encoding"),
)


@dataclass(frozen=True)
class OwnData:
    """Where the data are, and how they are read.

    Attributes
    ----------
    root : str
        Path of the data, or of a TOML file that describes them.
    label_column, group_column, partition_by : str
        As the settings say; empty: as the file says, or as is usual.
    regression : bool
        Whether the labels are targets.
    input_shape : tuple of int, optional
        To which images are resized.
    rules : str
        By which columns of a table become inputs: the setting ``column-rules``.
    agreeing : Settings, optional
        Of a run whose sites agree on rules for all other columns.
    """

    root: str
    label_column: str = ""
    group_column: str = ""
    partition_by: str = ""
    regression: bool = False
    input_shape: tuple[int, ...] | None = None
    rules: str = ""
    agreeing: Settings | None = None


def described_data(settings: Settings) -> Dataset:
    """The data that settings describe. Raises as `own_data`."""
    return own_data(
        OwnData(
            settings.data_root,
            settings.label_column,
            settings.group_column,
            settings.partition_by,
            not TASKS[settings.task].classes,
            parse_shape(settings.input_shape),
            settings.column_rules,
            settings if settings.column_rules_from == FEDERATED else None,
        )
    )


def own_data(source: OwnData) -> Dataset:
    """Read the data; kept for the life of the process while their files stay as they are.

    Raises
    ------
    ConfigError
        There is no path, or the description is none.
    DataError
        The data cannot be used.
    """
    if not source.root:
        raise ConfigError("dataset = 'own-data' needs the path of the data: give it as --dataset PATH or data-root.")
    about = _description(source)
    return _read(source, tuple(sorted(about.items())), fingerprint(about["path"]))


def _description(source: OwnData) -> dict[str, str]:
    """All that is said of the data, by key of a node config."""
    path = Path(source.root).expanduser()
    about: dict[str, Any] = {"path": str(path)}
    if path.suffix.lower() == ".toml":
        try:
            about = read_toml(path)
        except UnreadableFileError as error:
            raise DataError(f"{path} cannot be read as the description of a data set ({error.reason}).") from error
        wrong = [key for key, value in about.items() if key not in _KEYS or not isinstance(value, str)]
        if wrong or "path" not in about:
            what = f"has {wrong[0]!r}" if wrong else "has no path"
            raise ConfigError(f"{path} {what}: a data set is described by texts for {', '.join(_KEYS)}.")
        if not about["path"].strip():
            raise ConfigError(f"{path} has an empty path: give that of the data, or '.' for the whole folder.")
        about["path"] = str(path.parent / given_path(about["path"]))
    given = {
        "label-column": source.label_column,
        "group-column": source.group_column,
        "partition-by": source.partition_by,
    }
    return {"label-column": "label"} | about | {key: value for key, value in given.items() if value}


@lru_cache(maxsize=2)
def _read(source: OwnData, about: tuple[tuple[str, str], ...], files: object) -> Dataset:
    told = dict(about)
    layout, by = replace(layout_of(told), rules=source.rules), told.get("partition-by", "")
    column = by if is_table(Path(told["path"])) and by not in ("", GROUP, layout.group_column) else ""
    owned = _without(layout, layout.group_column if column else "")
    owned = replace(owned, group_column=layout.group_column if by in ("", GROUP) else by)
    if source.agreeing is not None:
        agreed = rules_of_sites(told["path"], told["label-column"], owned, by, source.agreeing)
        settled = _read(replace(source, rules=agreed, agreeing=None), about, files)
        return replace(settled, rules=agreed)
    parts = _parts(source, told, _without(layout, column))
    if by == GROUP and any(samples.groups is None for samples in parts.values()):
        raise ConfigError(f"partition-by = {GROUP!r} needs groups: say what names them with group-column.")
    if not by:
        return _dataset(source, told["path"], _whole_splits(parts, source.regression), None, by)
    owners = parts if by == GROUP else _parts(source, told, owned)
    if any(samples.groups is None for samples in owners.values()):
        raise DataError(f"{told['path']} does not say the {by!r} of its samples: give partition-by something else.")
    if by == GROUP:  # each client is one, so that its samples are divided as they are
        parts = {part: replace(samples, groups=None) for part, samples in parts.items()}
    return _dataset(source, told["path"], *_split_inside(parts, owners, source.regression), by)


def _without(layout: Layout, column: str) -> Layout:
    """The layout of a table in which a column of sites or groups is no feature; empty: of any."""
    dropped = (*layout.choice.drop, column) if column and not layout.choice.keep else layout.choice.drop
    return replace(layout, choice=replace(layout.choice, drop=dropped))


def _parts(source: OwnData, told: Mapping[str, str], layout: Layout) -> dict[str, Samples]:
    shape = source.input_shape
    try:
        return read_splits(
            told["path"], input_shape=shape, resize=shape is not None, label_column=told["label-column"], layout=layout
        )
    except DataError as error:  # its words are for a site, which has options that a simulation lacks
        lacking = [key for key in _KEYS if key not in _SETTINGS and f"--{key}" in str(error)]
        if not lacking:
            raise
        lines = " and ".join(f'{key} = "..."' for key in lacking)
        hint = f"A simulation has no option --{lacking[0]}: write {lines} into a TOML file that describes the data"
        raise DataError(f"{error} {hint} (docs/datasets.md, Your own data).") from error


def _whole_splits(parts: Mapping[str, Samples], regression: bool) -> dict[str, Samples]:
    """The parts that the data have; what they lack is taken out of their training samples, by their content alone."""
    if torn := shared_groups_text({part: samples.groups for part, samples in parts.items()}):
        raise DataError(torn)
    drawn = _drawn(parts["train"], regression)
    lacking = [part for part in SPLITS if part not in parts]
    train = [part for part in SPLITS if part not in lacking or part == "train"]
    rows = {part: drawn[part] for part in lacking}
    rows["train"] = np.sort(np.concatenate([drawn[part] for part in train]))
    return {part: parts["train"].take(rows[part]) if part in rows else parts[part] for part in SPLITS}


def _drawn(samples: Samples, regression: bool) -> dict[str, np.ndarray]:
    """Rows of each part: every class has its shares; the samples of a regression are one class, as at a site."""
    assert samples.digests is not None  # every reader gives them
    digests = [row.tobytes().hex() for row in samples.digests]
    classes = [""] * len(samples) if regression else list(map(normal_class, samples.labels or ()))
    return rows_by_part(assign_parts(digests, classes, groups=samples.groups))


def _split_inside(
    parts: Mapping[str, Samples], owners: Mapping[str, Samples], regression: bool
) -> tuple[dict[str, Samples], dict[str, tuple[str, ...]]]:
    """The splits of each site's own samples put together, and the site of each sample.

    A site has the parts that the data have; of data in one part each site's samples are divided by themselves.
    """
    sites = {part: owners[part].groups or () for part in parts}
    if len(parts) > 1:
        if set(parts) != set(SPLITS):
            raise DataError("Data with splits of their own need train, validation and test to be divided by sites.")
        return dict(parts), sites
    rows: dict[str, list[np.ndarray]] = {part: [] for part in SPLITS}
    of = np.array(sites["train"], dtype=object)
    for site in sorted(set(sites["train"])):
        own = np.flatnonzero(of == site)
        for part, chosen in _drawn(parts["train"].take(own), regression).items():
            rows[part].append(own[chosen])
    taken = {part: np.sort(np.concatenate(each)) for part, each in rows.items()}
    return (
        {part: parts["train"].take(each) for part, each in taken.items()},
        {part: tuple(of[each].tolist()) for part, each in taken.items()},
    )


def _dataset(
    source: OwnData, path: str, parts: Mapping[str, Samples], sites: Mapping[str, tuple[str, ...]] | None, by: str
) -> Dataset:
    first = parts["train"]
    wanted = WantedColumns(first.columns, whose="the part train")
    ordered = {part: own.arranged(wanted.order(f"the part {part}", own.columns)) for part, own in parts.items()}
    kinds = {(samples.inputs.shape[1:], samples.value_range) for samples in ordered.values()}
    if len(kinds) > 1:
        raise DataError(f"The parts of {path} have inputs of several shapes or ranges: give all parts one.")
    for samples in ordered.values():
        if problems := unusable(samples, source.regression):
            raise DataError(f"{path}: {problems[0]}")
    if not len(first):
        raise DataError(f"{path} has no training sample: give more data.")
    if not len(ordered["test"]):
        raise DataError(f"{path} has no test sample, as {_why_untested(first.groups, sites, by)}")
    names = () if source.regression else union_of_classes(samples.labels or () for samples in ordered.values())
    splits = {
        part: to_targets(samples) if source.regression else to_split(samples, names)
        for part, samples in ordered.items()
    }
    mean, std = input_statistics(splits["train"].inputs)
    groups = {part: samples.groups for part, samples in ordered.items() if samples.groups is not None}
    return Dataset(
        Path(path).name,
        names,
        splits["train"],
        splits["validation"],
        splits["test"],
        mean=mean,
        std=std,
        input_shape=first.inputs.shape[1:],
        sites=None if sites is None else _sites(sites, by),
        value_range=first.value_range,
        columns=first.columns,
        groups=groups if len(groups) == len(ordered) else {},
    )


def _why_untested(groups: Sequence[str] | None, sites: Mapping[str, tuple[str, ...]] | None, by: str) -> str:
    """What keeps all samples out of the test, and what to do; the groups are those of the training samples."""
    if groups is None:
        each = f" at each {by}" if by else ""
        return (
            f"equal samples stay together and the first ones of a class are for training and validation: give at least "
            f"four different samples of a class{each}, or a part test."
        )
    if sites is not None and len(set(zip(sites["train"], groups, strict=True))) == len(set(sites["train"])):
        return (
            f"each {by} is one group, which stays together: give another group-column or none, or partition-by = "
            f"{GROUP!r}, which divides each group's own samples."
        )
    return (
        f"groups stay together and there are too few of them ({len(set(groups))} with training samples): give another "
        "group-column or none, or a part test."
    )


def _sites(of: Mapping[str, tuple[str, ...]], by: str) -> Sites:
    """Sites by what names them, in the order of numbers where all are."""
    found = set().union(*of.values())
    names = clients_of(found, by)
    for name in sorted(names.values()):
        if fault := name_fault(name, NAME_LIMIT):
            raise DataError(f"The {by} {cut(name, 60)!r} cannot be the name of a client, as it {fault}: rename it.")
    known = sorted(names.values())
    place = {name: i for i, name in enumerate(known)}
    return Sites(tuple(known), {part: np.array([place[names[n]] for n in own], np.int64) for part, own in of.items()})
