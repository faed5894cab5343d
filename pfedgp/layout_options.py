"""Options of all commands that read a site's own data: how the values of samples stand where the data do not tell."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from pfedgp.table_options import site_choice
from pfedgp_core.data.value_range import RANGES

if TYPE_CHECKING:
    from pfedgp_core.data.own.layout import Layout
    from pfedgp_core.data.own.wanted_columns import WantedColumns
    from pfedgp_core.site.saved import SavedSite

__all__ = ["add_layout", "add_site_label", "layout_from", "site_label", "site_layout"]


def add_layout(parser: argparse.ArgumentParser, groups: bool = True) -> None:
    """Declare ``--channels-first`` and ``-last``, ``--pages``, ``--value-range``, ``--window``, ``--group-column``.

    Parameters
    ----------
    parser : argparse.ArgumentParser
    groups : bool
        Whether the command does something with groups of samples.
    """
    place = parser.add_mutually_exclusive_group()
    for where, shape in (("first", "[N, C, H, W]"), ("last", "[N, H, W, C]")):
        place.add_argument(
            f"--channels-{where}",
            action="store_const",
            const=where,
            dest="channels",
            default="",
            help=f"images of an .npz file are {shape}, where their shape does not tell",
        )
    parser.add_argument(
        "--pages",
        choices=("channels", "slices"),
        default="",
        help="what the pages of a file and the slices of a volume are: channels of one sample, or a sample each",
    )
    parser.add_argument(
        "--value-range",
        choices=RANGES,
        default="",
        help="range of the values of images, where they do not tell; open: a unit such as Hounsfield",
    )
    parser.add_argument(
        "--window",
        default="",
        metavar="CENTRE,WIDTH",
        help="see DICOM and NIfTI through a window, such as 40,400 Hounsfield units: values from 0 to 1",
    )
    if groups:
        parser.add_argument(
            "--group-column",
            default="",
            metavar="NAME",
            help="what names the patient of each sample, whose samples stay together: a column, an array of .npz, of "
            "images folder, or a field of DICOM such as PatientID",
        )


def layout_from(args: argparse.Namespace, columns: "WantedColumns | None" = None, model_range: str = "") -> "Layout":
    """The layout that the options give, for data that are compared with a model's columns and range."""
    from pfedgp_core.data.own.layout import layout_of

    given = {key.replace("_", "-"): value for key, value in vars(args).items()}
    return replace(layout_of(given), columns=columns, model_range=model_range)


def add_site_label(parser: argparse.ArgumentParser) -> None:
    """Declare ``--label-column`` of a verb that reads new samples of a site, which knows the column of its own."""
    parser.add_argument(
        "--label-column",
        default="",
        metavar="NAME",
        help="column of a table with the class, which is no feature (default: as in the site's own data)",
    )


def site_label(args: argparse.Namespace, site: "SavedSite") -> str:
    """The column of classes in new samples of a site: the one that is given, or that of the site's own."""
    return str(args.label_column or site.label_column)


def site_layout(args: argparse.Namespace, site: "SavedSite") -> "Layout":
    """The layout for new samples of a site: what the options do not say is as for the site's own."""
    from pfedgp_core.data.own.wanted_columns import WantedColumns

    columns = WantedColumns(site.columns, whose=f"the site {site.name!r}")
    found = layout_from(args, columns, site.model.value_range)
    return replace(found, choice=site_choice(args, site.choice), rules=site.model.settings.column_rules)
