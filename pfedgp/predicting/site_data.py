"""New samples of a site, read as its own were, and what a person should know of them."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pfedgp.layout_options import site_label, site_layout
from pfedgp.predicting.notes import print_notes
from pfedgp_core.words import counted

if TYPE_CHECKING:
    from pfedgp_core.data.own.samples import Samples
    from pfedgp_core.site.saved import SavedSite

__all__ = ["note_samples", "read_for_site"]


def read_for_site(site: "SavedSite", path: Path, args: argparse.Namespace, labelled: bool) -> "Samples":
    """All samples of a path, by the options for reading them and by what the site knows of its own.

    Raises
    ------
    DataError
        There are none, or they are not as the site's own.
    """
    from pfedgp_core.data.own.reader import read_samples

    return read_samples(
        path,
        input_shape=site.model.prepare().input_shape,
        resize=args.resize,
        label_column=site_label(args, site),
        labelled=labelled,
        layout=site_layout(args, site),
    )


def note_samples(site: "SavedSite", samples: "Samples") -> None:
    """Print in what the samples differ from the site's own."""
    from pfedgp_core.site.data_notes import data_notes

    print_notes(data_notes(site, samples), f"by all {counted(len(samples), 'sample')}")
