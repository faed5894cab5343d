"""A site's inputs beside those that a model was trained on: other units, another scale, inverted grey values.

The bound is that of a run, where the server compares the sites with each other (`server.clients.input_scales`).
"""

from collections.abc import Sequence

import numpy as np

from pfedgp_core.data.moments import input_moments
from pfedgp_core.words import cut

__all__ = ["FAR", "looks_inverted", "scale_notes"]

FAR = 30.0  # deviations of the model's data, or how much smaller a site's own deviation is
FEWEST = 10  # samples from which a small deviation says something
SHOWN = 5  # columns that are named
INVERTED = 0.15  # from the middle grey, by which means lie apart when one of two sites is inverted


def scale_notes(inputs: np.ndarray, columns: Sequence[str], mean: np.ndarray, std: np.ndarray) -> list[str]:
    """Say where inputs are far from those of the model; empty where nowhere.

    Parameters
    ----------
    inputs : uint8 or float32 [N, C, H, W], or float32 [N, D]
        Of the model's shape and range, N from 1.
    columns : sequence of str, length D
        Names; empty where there are none, and columns are told by their place.
    mean, std : arrays [C] or [D]
        The model's normalisation.
    """
    own_mean, own_std = input_moments(inputs)
    if inputs.ndim == 4 and (notes := _notes_of_images(own_mean, mean)):
        return notes
    if inputs.dtype == np.uint8:
        return []
    far = np.maximum(np.abs(own_mean - mean), own_std) > FAR * std
    narrow = (own_std > 0) & (FAR * own_std < std) & (len(inputs) >= FEWEST)
    places = np.flatnonzero(far | narrow).tolist()
    images = inputs.ndim == 4
    notes = [
        f"{_feature(i, columns, images)} is on another scale than in the model's data (mean {own_mean[i]:g} and "
        f"deviation {own_std[i]:g} here, {mean[i]:g} and {std[i]:g} there): check its unit, or whether it is that "
        f"{'channel' if images else 'column'}."
        for i in places[:SHOWN]
    ]
    if len(places) > SHOWN:
        notes.append(f"{len(places) - SHOWN} more columns are on another scale than in the model's data.")
    return notes


def looks_inverted(mean: np.ndarray, other: np.ndarray) -> bool:
    """Whether images with these means of channels [C], from 0 to 1, are light where the others are dark."""
    mine, theirs = float(np.mean(mean)) - 0.5, float(np.mean(other)) - 0.5
    return mine * theirs < 0 and abs(mine - theirs) > 2 * INVERTED


def _notes_of_images(own: np.ndarray, mean: np.ndarray) -> list[str]:
    if not looks_inverted(own, mean):
        return []
    look = "light" if np.mean(own) > 0.5 else "dark"
    note = f"The images are {look} (mean {np.mean(own):.2f} of 0 to 1) and the model's were not ({np.mean(mean):.2f})"
    return [f"{note}: check whether their grey values are inverted."]


def _feature(index: int, columns: Sequence[str], images: bool) -> str:
    if images:
        return f"Channel {index + 1} of the images"
    return f"The column {cut(columns[index], 60)!r}" if columns else f"Column {index + 1}"
