"""Onboarding: a trained model and a site's own data become a personal classifier, without any training."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from client.same_model import same, same_posterior
from client.site_notes import group_notes, site_notes
from pfedgp_core.data.own.class_ids import to_split
from pfedgp_core.data.own.kinds import split_paths
from pfedgp_core.data.own.layout import AS_TOLD, Layout
from pfedgp_core.data.own.reader import read_samples
from pfedgp_core.data.own.samples import Samples
from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.data.samples import Split
from pfedgp_core.data.tables.choice import AS_NAMED, TableChoice
from pfedgp_core.data.value_range import joined_inputs, range_text, usual_range
from pfedgp_core.errors import ArtefactError, ConfigError, DataError
from pfedgp_core.site.data_notes import position_notes, site_scale_notes
from pfedgp_core.site.history import Event, next_batch
from pfedgp_core.site.origins import UNKNOWN, Origin, origins_of
from pfedgp_core.site.samples import SiteSamples, digest_of, sample_digests
from pfedgp_core.site.saved import LABEL, SavedSite, is_site
from pfedgp_core.site.site_lock import changing
from pfedgp_core.site.trained_model import TrainedModel
from pfedgp_core.words import counted

__all__ = ["Onboarding", "Outcome", "SiteData"]


class SiteData(NamedTuple):
    """Training samples as they were read.

    Attributes
    ----------
    split : Split
    columns : tuple of str
        Names of a table's columns, in the model's order.
    origins : tuple of Origin, length N
    named : bool
        Whether all of them came with names of columns.
    notes : tuple of str
        On how they were read.
    """

    split: Split
    columns: tuple[str, ...]
    origins: tuple[Origin, ...]
    named: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What onboarding has done.

    Attributes
    ----------
    site : SavedSite
        As it is in the folder now.
    changes : tuple of str
        Sentences on what was new compared with a site that was there; empty for a new site.
    notes : tuple of str
        Sentences on what a person should know.
    written : bool
        False where nothing had changed.
    """

    site: SavedSite
    changes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    written: bool = True

    def noted(self, notes: Sequence[str]) -> "Outcome":
        """The same with further sentences, before its own."""
        return replace(self, notes=(*notes, *self.notes))


@dataclass(frozen=True)
class Onboarding:
    """One site folder, and how data are read for it. Only training data are used; splits for measuring stay apart.

    Parameters
    ----------
    out : Path
        Folder of the site.
    name : str, optional
        Of the site; default: that of the folder.
    resize : bool
        Resize images of another size than the model's.
    label_column : str
        Column of a table that holds the class; empty: that of the site that is there, or ``label``.
    allowed : tuple of str
        Import paths that the operator lets a site's model name as its network.
    column_key : bytes
        With which the sites of the model's federation hashed the names of their columns, where they did.
    layout : Layout
        How the values of samples stand, where the data do not tell; more data of a site have its features.
    """

    out: Path
    name: str | None = None
    resize: bool = False
    label_column: str = ""
    allowed: tuple[str, ...] = ()
    column_key: bytes = field(default=b"", repr=False)
    layout: Layout = AS_TOLD

    def create(self, model: TrainedModel, paths: Sequence[Path | Samples | Split]) -> Outcome:
        """A new site from the data at all paths together; data in memory do as well.

        A `Split` has the model's class ids, and `Samples` names of classes and the model's input shape.

        Raises
        ------
        ArtefactError
            The folder is taken, or cannot be written.
        DataError
            The data cannot be used.
        """
        if is_site(self.out):
            raise ArtefactError(
                f"{self.out} is a site already: give --refresh to make it again, --add to add data, or another --out."
            )
        if self.out.exists() and not (self.out.is_dir() and not any(self.out.iterdir())):
            raise ArtefactError(f"{self.out} is in use by something else: give --out a folder that does not exist yet.")
        split, columns, origins, _, notes = self.samples_at(paths, model)
        samples = SiteSamples.compute(split, model, origins)
        site = SavedSite.fit(self._name(), model, samples, columns, *self.kept())
        site.save(self.out)
        return Outcome(site, notes=(*notes, *site_notes(site, split)))

    def add(self, paths: Sequence[Path], model: TrainedModel | None = None) -> Outcome:
        """More data for the site that is there; the same, bit for bit, as a new site with all the data.

        Parameters
        ----------
        paths : sequence of Path
        model : TrainedModel, optional
            Only to make sure that it is the site's own.

        Raises
        ------
        ConfigError
            The site stands on another model.
        ArtefactError, DataError
            As `create`; the site stays as it was.
        """
        with changing(self.out) as change:
            return self._add(paths, model).noted(change.notes)

    def _add(self, paths: Sequence[Path], model: TrainedModel | None) -> Outcome:
        former = SavedSite.load(self.out, self.allowed)
        if model is not None and same_posterior(model, former.model) and not same(model, former.model):
            raise ConfigError(
                f"The site at {self.out} has temperature {former.model.temperature:g}, and the model "
                f"{model.temperature:g}: leave out --model to add data, or give --refresh with all the data to change "
                "the temperature."
            )
        if model is not None and not same(model, former.model):
            raise ConfigError(
                f"The site at {self.out} stands on the model {former.model.sha256[:12]}, not on {model.sha256[:12]}: "
                "leave out --model to add data, or give --refresh with all the data to change the model."
            )
        reading = self._as(former)
        split, columns, origins, named, notes = reading.samples_at(paths, former.model, former.columns)
        batch = next_batch(former.history)
        added = SiteSamples.compute(split, former.model, origins).arrived_with(batch)
        samples = former.samples.union(added)
        history = (*former.history, Event.now("add", "", len(added), len(samples), batch=batch))
        kept = replace(reading, label_column=former.label_column).kept(history)
        site = SavedSite.fit(self._name(former), former.model, samples, columns, *kept)
        site.save(self.out, replace=True)
        said = f"Added {counted(len(added), 'sample')} to {len(former.samples)}."
        notes = (*notes, *group_notes(former, origins))
        return Outcome(site, (said,), (*notes, *site_notes(site, split, bool(former.columns) and not named)))

    def further_samples(self, site: SavedSite, paths: Sequence[Path]) -> tuple[SiteSamples, list[str]]:
        """The samples at the paths under the site's model, read as the site's own, with notes; raises as `add`."""
        split, columns, origins, named, told = self._as(site).samples_at(paths, site.model, site.columns)
        notes = [*told, *site_scale_notes(site, split.inputs), *group_notes(site, origins)]
        notes += position_notes(split.inputs, columns if named else (), site.columns, "The site")
        return SiteSamples.compute(split, site.model, origins), notes

    def refresh(self, paths: Sequence[Path | Samples | Split], model: TrainedModel | None = None) -> Outcome:
        """The site that is there, made again if its model or its data changed.

        Parameters
        ----------
        paths : sequence of Path, Samples or Split
            All the data of the site.
        model : TrainedModel, optional
            Default: that of the site.

        Raises
        ------
        ArtefactError, DataError
            As `create`; the site stays as it was.
        """
        with changing(self.out) as change:
            return self._refresh(paths, model).noted(change.notes)

    def _refresh(self, paths: Sequence[Path | Samples | Split], model: TrainedModel | None) -> Outcome:
        former = SavedSite.load(self.out, self.allowed)
        model = model or former.model
        reading = self._as(former)
        split, columns, origins, _, notes = reading.samples_at(paths, model)
        changes = []
        if not same_posterior(model, former.model):
            changes.append(f"The model changed ({former.model.sha256[:12]} to {model.sha256[:12]}).")
        if model.temperature != former.model.temperature:
            changes.append(f"The temperature changed ({former.model.temperature:g} to {model.temperature:g}).")
        if model.temperature_spread != former.model.temperature_spread:
            was, now = former.model.temperature_spread, model.temperature_spread
            changes.append(f"The spread of temperatures changed ({was:.3g} to {now:.3g}).")
        if digest_of(sample_digests(split, model.class_names)) != former.samples.sha256:
            changes.append(f"The data changed ({counted(len(former.samples), 'sample')} to {len(split)}).")
        elif set(origins) != {UNKNOWN} and _names(origins) != _names(former.samples.origins):
            changes.append("The ids of the samples changed.")
        if self._name(former) != former.name:
            changes.append(f"The name changed ({former.name!r} to {self.name!r}).")
        if reading.label_column != former.label_column:
            changes.append(f"The column of classes changed ({former.label_column!r} to {reading.label_column!r}).")
        if reading.layout.group_column != former.group_column:
            changes.append(f"The name of groups is {reading.layout.group_column!r}, and was {former.group_column!r}.")
        if not changes:
            return Outcome(former, ("Neither the model nor the data changed.",), written=False)
        samples = SiteSamples.compute(split, model, origins)
        site = SavedSite.fit(self._name(former), model, samples, columns, *reading.kept(former.history))
        site.save(self.out, replace=True)
        return Outcome(site, tuple(changes), (*notes, *site_notes(site, split)))

    def _as(self, former: SavedSite) -> "Onboarding":
        """The same, which reads tables as those of the former site where nothing else is said."""
        layout = self.layout if self.layout.choice != AS_NAMED else replace(self.layout, choice=former.choice)
        if not layout.group_column:
            layout = replace(layout, group_column=former.group_column, group_kept=True)
        return replace(self, layout=layout, label_column=self.label_column or former.label_column)

    def kept(self, history: tuple[Event, ...] = ()) -> tuple[TableChoice, tuple[Event, ...], str, str]:
        """What a site keeps of how its data are read, and its history."""
        return self.layout.kept_choice, history, self.label_column or LABEL, self.layout.group_column

    def _name(self, former: SavedSite | None = None) -> str:
        return self.name or (former.name if former else self.out.absolute().name)

    def samples_at(
        self, paths: Sequence[Path | Samples | Split], model: TrainedModel, columns: tuple[str, ...] = ()
    ) -> SiteData:
        """The training samples at all paths together.

        Where the model has no names, the order is that of the site's former data, or else of the first table.
        """
        splits, origins, wanted, named = [], [], WantedColumns(model.columns, self.column_key), True
        notes: list[str] = []
        model.prepare()
        for path in paths:
            if isinstance(path, Split):
                splits.append(path)
                origins += [UNKNOWN] * len(path)
                named = False
                continue
            if not wanted.names:
                wanted = WantedColumns(columns, whose="the site's other data")
            samples = self._samples(path, model, wanted)
            columns, named = columns or samples.columns, named and bool(samples.columns)
            splits.append(to_split(samples, model.class_names))
            notes += samples.notes
            origins += origins_of(samples)
        inputs = joined_inputs([split.inputs for split in splits])
        split = Split(inputs, np.concatenate([split.labels for split in splits]))
        return SiteData(split, columns, tuple(origins), named, tuple(notes))

    def _samples(self, path: Path | Samples, model: TrainedModel, columns: WantedColumns) -> Samples:
        if isinstance(path, Samples):
            taken = usual_range(model.value_range, model.input_shape)
            if path.value_range and path.value_range != taken and taken:
                raise DataError(
                    f"The site's images have {range_text(path.value_range)}, and the model takes {range_text(taken)}: "
                    f"bring them to that range, or start the site with --value-range {taken} if they have it."
                )
            return path.arranged(columns.order("the site's table", path.columns))
        return read_samples(
            path,
            input_shape=model.input_shape,
            resize=self.resize,
            label_column=self.label_column or LABEL,
            layout=replace(
                self.layout, columns=columns, model_range=model.value_range, rules=model.settings.column_rules
            ),
            split="train" if split_paths(path) else None,
            room=model.require_room,
        )


def _names(origins: tuple[Origin, ...]) -> list[tuple[str, str]]:
    return sorted((origin.id, origin.group) for origin in origins)
