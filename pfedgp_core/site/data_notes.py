"""What a person should know of data that a site's classifier is given: columns by position, and another scale."""

from collections.abc import Sequence

import numpy as np

from pfedgp_core.data.own.model_scale import scale_notes
from pfedgp_core.data.own.samples import Samples
from pfedgp_core.site.saved import SavedSite

__all__ = ["data_notes", "position_notes", "site_scale_notes"]


def data_notes(site: SavedSite, samples: Samples) -> list[str]:
    """Notes on samples of the model's shape; empty where there is nothing to say."""
    positions = position_notes(samples.inputs, samples.columns, site.columns, "The site")
    return [*samples.notes, *site_scale_notes(site, samples.inputs), *positions]


def site_scale_notes(site: SavedSite, inputs: np.ndarray) -> list[str]:
    """Where inputs, uint8 [N, C, H, W] or float32 [N, D], are on another scale than the data of the site's model."""
    return scale_notes(inputs, site.columns, site.model.mean, site.model.std)


def position_notes(inputs: np.ndarray, columns: Sequence[str], known: Sequence[str], whose: str) -> list[str]:
    """Say that features are taken by position; empty where they go by name, and for images.

    Parameters
    ----------
    inputs : uint8 [N, C, H, W] or float32 [N, D]
    columns : sequence of str
        Of the data; empty where they have no names.
    known : sequence of str
        With which they would be compared; empty where there are none.
    whose : str
        Who knows these, at the beginning of a sentence.
    """
    if inputs.ndim != 2 or (columns and known):
        return []
    without = "The data have" if known else f"{whose} has"
    return [f"{without} no names of columns, so features are taken by position: make sure of their order."]
