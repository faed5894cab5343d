"""How the values of a site's samples stand, where the data do not tell it; on the command line and in the node config.

=================  ====================================================================================================
node config        meaning
=================  ====================================================================================================
``channels``       ``first`` or ``last``: where the channels of arrays of images are
``pages``          ``channels`` or ``slices``: what the pages of a file and the slices of a volume become
``value-range``    the range of images' values: ``0..255``, ``0..1``, ``0..65535`` or ``open``
``group-column``   what names the group of each sample, such as a patient
``window``         centre and width, as ``40,400``, through which DICOM and NIfTI are seen
``columns``        columns of a table that are features, ``drop`` those that are none, ``id-column`` the one that names
                   the samples, ``encoding`` of a CSV file
=================  ====================================================================================================
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pfedgp_core.data.own.wanted_columns import WantedColumns
from pfedgp_core.data.tables.choice import AS_NAMED, TableChoice
from pfedgp_core.data.value_range import RANGES
from pfedgp_core.errors import ConfigError
from pfedgp_core.words import cut

__all__ = ["AS_TOLD", "CHOICES", "FOLDER", "Layout", "layout_of"]

CHOICES = {"channels": ("first", "last"), "pages": ("channels", "slices"), "value-range": RANGES}
KEYS = (*CHOICES, "group-column", "window")
FOLDER = "folder"  # group of an image: the folder in its class's folder
NARROWEST, WIDEST = 2.0, 1e9  # windows


@dataclass(frozen=True)
class Layout:
    """How the values of a sample stand, where the data do not tell.

    Attributes
    ----------
    columns : WantedColumns, optional
        Of a table: others are refused, and the same ones come in this order.
    channels : {"", "first", "last"}
        Where the channels of arrays of images are; empty: as their shape tells.
    pages : {"", "channels", "slices"}
        What the pages of a file, the frames of a series and the slices of a volume become: channels of one sample, or a
        sample each; empty: they are refused.
    value_range : str
        The range of images' values as the user says it, one of `pfedgp_core.data.value_range.RANGES`; empty: as the
        values tell.
    group_column : str
        What names the group of each sample: a column of a table, an array of an archive, or of images ``folder`` or a
        field of DICOM such as PatientID; empty: the array ``groups``, where there is one.
    group_kept : bool
        Whether that is the name in a site's former data: new ones that lack it are read without groups.
    window : str
        Centre and width of the values of DICOM and NIfTI that become 0 to 1, as ``40,400``; empty: all values.
    model_range : str
        The range that the model takes; images of another one are refused.
    choice : TableChoice
        Which columns of a table are features.
    rules : str, optional
        By which they become inputs: the setting ``column-rules``. None where a run will bring it: what needs a rule is
        noted then, and no problem.
    agrees : bool
        Whether the sites of a run will agree on rules for all columns that have none.
    """

    columns: WantedColumns | None = None
    channels: str = ""
    pages: str = ""
    value_range: str = ""
    group_column: str = ""
    group_kept: bool = False
    window: str = ""
    model_range: str = ""
    choice: TableChoice = AS_NAMED
    rules: str | None = ""
    agrees: bool = False

    @property
    def window_ends(self) -> tuple[float, float]:
        """Centre and width of the window; ConfigError where it is none."""
        try:
            centre, width = map(float, self.window.split(","))
        except ValueError:
            centre = width = math.nan
        if not (abs(centre) <= WIDEST and NARROWEST <= width <= WIDEST):
            raise ConfigError(
                f"window = {cut(self.window, 40)!r} is none: give its centre and its width of at least "
                f"{NARROWEST:g}, such as 40,400."
            )
        return centre, width

    @property
    def kept_choice(self) -> TableChoice:
        """The choice of columns that a site keeps for new samples, which need no groups."""
        group = [] if self.choice.keep or self.group_column in ("", *self.choice.drop) else [self.group_column]
        return replace(self.choice, drop=(*self.choice.drop, *group))

    def to_config(self) -> dict[str, str]:
        """What was said of it, as a node config has it."""
        said = {key: value for key in KEYS if (value := str(getattr(self, key.replace("-", "_"))))}
        return said | self.choice.to_config()


AS_TOLD = Layout()


def layout_of(config: Mapping[str, Any]) -> Layout:
    """The layout of a node config, or of anything else with its keys.

    Raises
    ------
    ConfigError
        A key has a value that is none of its choices, or the choice of columns contradicts itself.
    """
    given: dict[str, Any] = {key: str(config.get(key) or "").strip() for key in KEYS}
    for key, choices in CHOICES.items():
        if given[key] and given[key] not in choices:
            raise ConfigError(f"{key} = {cut(given[key], 40)!r} is not known: give {', '.join(choices)}.")
    said = {key.replace("-", "_"): value for key, value in given.items()}
    layout = Layout(**said, choice=TableChoice.of(config))
    if layout.window:
        _ = layout.window_ends  # refuses what is no window
    return layout
