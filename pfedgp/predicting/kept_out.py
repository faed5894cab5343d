"""Samples that a site was not fitted on: labelled ones that were kept out of everything, and further inputs.

Where the data name groups, such as patients, none may be one of the site's own.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pfedgp.predicting.site_data import note_samples, read_for_site
from pfedgp_core.words import counted

if TYPE_CHECKING:
    from pfedgp_core.data.own.samples import Samples
    from pfedgp_core.site.saved import SavedSite

__all__ = ["HeldOut", "Unlabelled", "held_out_samples", "unlabelled_inputs"]


class HeldOut(NamedTuple):
    """Labelled samples that the site was not fitted on; of groups, one sample of each.

    Attributes
    ----------
    inputs, labels : arrays [m, ...] and [m]
    repeated : int
        How many of all samples equal another one, by the operator's word independent.
    samples : int or None
        Samples that the groups have in all; None where the data name no groups.
    """

    inputs: np.ndarray
    labels: np.ndarray
    repeated: int
    samples: int | None


class Unlabelled(NamedTuple):
    """Further inputs [m, ...], and the number of each one's group [m] where the data name groups."""

    inputs: np.ndarray
    groups: np.ndarray | None


def held_out_samples(site: "SavedSite", path: Path, args: argparse.Namespace) -> HeldOut:
    """The samples of a path, by the options for reading them.

    Raises
    ------
    NoCertificateError
        Some of them are not held out or not independent.
    """
    from pfedgp_core.certificate.classifier import NoCertificateError
    from pfedgp_core.certificate.groups import one_of_each
    from pfedgp_core.data.own.class_ids import to_split
    from pfedgp_core.numerics.streams import Stream
    from pfedgp_core.site.samples import sample_digests

    samples = read_for_site(site, path, args, labelled=True)
    split = to_split(samples, site.model.class_names)
    digests = [row.tobytes() for row in sample_digests(split, site.model.class_names)]
    groups = _new_groups(site, samples, path)
    fitted = {row.tobytes() for row in site.samples.digests}
    known, copies = sum(digest in fitted for digest in digests), _copies(digests, groups)
    if (known or copies) and not args.repeats_are_genuine:
        what = f"equal samples that the site was fitted on ({known})" if known else f"equal each other ({copies})"
        raise NoCertificateError(
            f"Some of the {len(digests)} samples in {path} {what}, so they are not held out and independent: "
            "remove them all, or give --repeats-are-genuine if each is a sample of its own."
        )
    note_samples(site, samples)
    if groups is None:
        return HeldOut(split.inputs, split.labels, known + copies, None)
    # In the order of the digests, so that which samples are taken does not depend on that of the file.
    rows = np.array(sorted(range(len(digests)), key=digests.__getitem__))
    stream = Stream(site.model.settings.seed, "certificate", "one of each group", site.model.sha256)
    chosen = np.sort(rows[one_of_each(groups[rows], stream.numpy)])
    return HeldOut(split.inputs[chosen], split.labels[chosen], known + copies, len(digests))


def unlabelled_inputs(site: "SavedSite", args: argparse.Namespace) -> Unlabelled:
    """The inputs of ``--unlabelled``; labels in the file are not looked at.

    Raises
    ------
    NoCertificateError
        Some of them are inputs that the site was fitted on, or copies.
    """
    from pfedgp_core.certificate.classifier import NoCertificateError
    from pfedgp_core.data.samples import Split
    from pfedgp_core.site.samples import sample_digests

    samples = read_for_site(site, args.unlabelled, args, labelled=False)
    inputs = samples.inputs
    groups = _new_groups(site, samples, args.unlabelled)
    if groups is not None and site.samples.groups is None:
        raise NoCertificateError(
            f"The inputs in {args.unlabelled} are of groups, and of the samples of the site {site.name!r} no groups "
            "are known: make the site again with pfedgp onboard --refresh and --group-column, or leave the groups out."
        )
    fitted = {row.tobytes() for row in site.samples.digests}
    known: np.ndarray = np.zeros(len(inputs), bool)
    digests: list[bytes] = []
    for label in np.unique(site.samples.labels).tolist():
        split = Split(inputs, np.full(len(inputs), label))
        digests = [row.tobytes() for row in sample_digests(split, site.model.class_names)]
        known |= [digest in fitted for digest in digests]
    copies = _copies(digests, groups)
    if (known.any() or copies) and not args.repeats_are_genuine:
        what = f"are inputs that the site was fitted on ({known.sum()})" if known.any() else f"are copies ({copies})"
        raise NoCertificateError(
            f"Some of the {len(inputs)} unlabelled inputs in {args.unlabelled} {what}, so they are not new and "
            "independent: remove them all, or give --repeats-are-genuine if each is a sample of its own."
        )
    note_samples(site, samples)
    return Unlabelled(inputs, groups)


def _copies(digests: Sequence[bytes], groups: np.ndarray | None) -> int:
    """How many samples equal one before them, or one of another group: copies in a group are no further draw."""
    alone: Sequence[int] = range(len(digests)) if groups is None else groups.tolist()
    return len(set(zip(digests, alone, strict=True))) - len(set(digests))


def _new_groups(site: "SavedSite", samples: "Samples", path: Path) -> np.ndarray | None:
    """The number of each sample's group; None where neither the samples nor the site's own name groups.

    Raises
    ------
    NoCertificateError
        A group is one of the site's own, or cannot be told from these.
    """
    from pfedgp_core.certificate.classifier import NoCertificateError
    from pfedgp_core.data.own.groups import former_group_hashes, group_hashes, group_numbers

    own = {origin.group for origin in site.samples.origins if origin.group}
    if samples.groups is None:
        if own:
            raise NoCertificateError(
                f"The samples of the site {site.name!r} are of {counted(len(own), 'group')}, and those in {path} name "
                "none, so nobody knows whether they are of the same ones: give --group-column, with a name of its own "
                "for a sample that stands alone."
            )
        return None
    hashes = group_hashes(samples.groups)
    both = zip(hashes, former_group_hashes(samples.groups), strict=True)
    if torn := sum(not own.isdisjoint(names) for names in both):
        raise NoCertificateError(
            f"{torn} of the {len(hashes)} samples in {path} are of groups that the site has samples of, so they are "
            "not independent of it: leave these groups out, or give them names of their own if they are others."
        )
    return group_numbers(hashes)
