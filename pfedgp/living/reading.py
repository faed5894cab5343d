"""New samples of a living site, read as those of the site were."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pfedgp.layout_options import add_layout, add_site_label
from pfedgp.predicting.site_data import note_samples, read_for_site
from pfedgp.table_options import add_table_options
from pfedgp_core.words import counted

if TYPE_CHECKING:
    from pfedgp_core.data.own.samples import Samples
    from pfedgp_core.site.saved import SavedSite

__all__ = ["add_reading", "copies_notes", "unlabelled_samples"]


def add_reading(parser: argparse.ArgumentParser, groups: bool = False) -> None:
    """Declare the options that say how data are read."""
    parser.add_argument("--resize", action="store_true", help="resize images to the size that the model takes")
    add_site_label(parser)
    add_layout(parser, groups)
    add_table_options(parser)


def copies_notes(site: "SavedSite", so: str) -> list[str]:
    """Say what copies among a site's samples do where each is predicted from all others; empty without copies.

    Parameters
    ----------
    site : SavedSite
    so : str
        What follows, as the end of a sentence.
    """
    n = site.samples.repeated()
    return [f"{counted(n, 'sample')} of the site repeat another one and are predicted from it: {so}."] if n else []


def unlabelled_samples(site: "SavedSite", path: Path, args: argparse.Namespace) -> "Samples":
    """All samples of a path; labels in the data are not needed.

    Raises
    ------
    DataError
        There are none, or they are not as the site's own.
    """
    samples = read_for_site(site, path, args, labelled=False)
    note_samples(site, samples)
    return samples
