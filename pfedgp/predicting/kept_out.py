"""Samples that a site was not fitted on: labelled ones that were kept out of everything, and further inputs."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pfedgp.predicting.site_data import note_samples, read_for_site

if TYPE_CHECKING:
    from pfedgp_core.site.saved import SavedSite

__all__ = ["HeldOut", "held_out_samples", "unlabelled_inputs"]


class HeldOut(NamedTuple):
    """Labelled samples that the site was not fitted on.

    Attributes
    ----------
    inputs, labels : arrays [m, ...] and [m]
    repeated : int
        How many equal another one, by the operator's word independent.
    """

    inputs: np.ndarray
    labels: np.ndarray
    repeated: int


def held_out_samples(site: "SavedSite", path: Path, args: argparse.Namespace) -> HeldOut:
    """The samples of a path, by the options for reading them.

    Raises
    ------
    NoCertificateError
        Some of them are not held out or not independent.
    """
    from pfedgp_core.certificate.classifier import NoCertificateError
    from pfedgp_core.data.own.class_ids import to_split
    from pfedgp_core.site.samples import sample_digests

    samples = read_for_site(site, path, args, labelled=True)
    split = to_split(samples, site.model.class_names)
    digests = [row.tobytes() for row in sample_digests(split, site.model.class_names)]
    fitted = {row.tobytes() for row in site.samples.digests}
    known, copies = sum(digest in fitted for digest in digests), len(digests) - len(set(digests))
    if (known or copies) and not args.repeats_are_genuine:
        what = f"equal samples that the site was fitted on ({known})" if known else f"equal each other ({copies})"
        raise NoCertificateError(
            f"Some of the {len(digests)} samples in {path} {what}, so they are not held out and independent: "
            "remove them all, or give --repeats-are-genuine if each is a sample of its own."
        )
    note_samples(site, samples)
    return HeldOut(split.inputs, split.labels, known + copies)


def unlabelled_inputs(site: "SavedSite", args: argparse.Namespace) -> np.ndarray:
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
    fitted = {row.tobytes() for row in site.samples.digests}
    known, digests = np.zeros(len(inputs), bool), []
    for label in np.unique(site.samples.labels).tolist():
        split = Split(inputs, np.full(len(inputs), label))
        digests = [row.tobytes() for row in sample_digests(split, site.model.class_names)]
        known |= [digest in fitted for digest in digests]
    copies = len(digests) - len(set(digests))
    if (known.any() or copies) and not args.repeats_are_genuine:
        what = f"are inputs that the site was fitted on ({known.sum()})" if known.any() else f"are copies ({copies})"
        raise NoCertificateError(
            f"Some of the {len(inputs)} unlabelled inputs in {args.unlabelled} {what}, so they are not new and "
            "independent: remove them all, or give --repeats-are-genuine if each is a sample of its own."
        )
    note_samples(site, samples)
    return inputs
